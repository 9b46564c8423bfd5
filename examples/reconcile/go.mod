module github.com/ironstate/ironstate/examples/reconcile

go 1.26.0

require (
	github.com/gophercloud/gophercloud/v2 v2.15.0
	github.com/ironstate/ironstate v0.0.0
	github.com/stretchr/testify v1.12.1
	go.uber.org/goleak v1.3.0
)

require go.yaml.in/yaml/v3 v3.0.5 // indirect

replace github.com/ironstate/ironstate => ../..
