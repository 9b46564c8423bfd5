module github.com/ironstate/ironstate/conductor

go 1.26.0

require (
	github.com/google/uuid v1.6.0
	github.com/ironstate/ironstate v0.0.0
	github.com/ironstate/ironstate/verify/bmc v0.0.0
)

replace (
	github.com/ironstate/ironstate => ..
	github.com/ironstate/ironstate/verify/bmc => ../verify/bmc
)
