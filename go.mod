module github.com/ironstate/ironstate

go 1.23.0

require (
	github.com/cockroachdb/datadriven v1.0.3
	github.com/emicklei/dot v1.11.0
	github.com/looplab/fsm v1.0.3
	github.com/stretchr/testify v1.12.1
	go.uber.org/goleak v1.3.0
	pgregory.net/rapid v1.3.0
)

require (
	github.com/pmezard/go-difflib v1.0.0 // indirect
	go.yaml.in/yaml/v3 v3.0.6 // indirect
)
