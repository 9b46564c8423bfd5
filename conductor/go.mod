module github.com/ironstate/ironstate/conductor

go 1.25.0

require (
	github.com/cespare/xxhash/v2 v2.3.0
	github.com/google/uuid v1.6.0
	github.com/ironstate/ironstate v0.0.0
	github.com/lima-vm/go-qcow2reader v0.7.0
	github.com/stretchr/testify v1.12.1
	golang.org/x/crypto v0.45.0
	pgregory.net/rapid v1.3.0
)

require (
	go.uber.org/goleak v1.3.0 // indirect
	go.yaml.in/yaml/v3 v3.0.6 // indirect
)

replace github.com/ironstate/ironstate => ..
