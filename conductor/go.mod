module github.com/ironstate/ironstate/conductor

go 1.26.0

require (
	github.com/cespare/xxhash/v2 v2.3.0
	github.com/evanphx/json-patch/v5 v5.9.11
	github.com/google/uuid v1.6.0
	github.com/ironstate/ironstate v0.0.0
	github.com/stretchr/testify v1.12.1
	pgregory.net/rapid v1.3.0
)

require go.yaml.in/yaml/v3 v3.0.6 // indirect

replace (
	github.com/ironstate/ironstate => ..
	github.com/ironstate/ironstate/verify/bmc => ../verify/bmc
)
