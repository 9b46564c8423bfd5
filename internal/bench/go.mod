module github.com/ironstate/ironstate/internal/bench

go 1.26.0

require (
	github.com/ironstate/ironstate v0.0.0
	github.com/looplab/fsm v1.0.3
	github.com/qmuntal/stateless v1.7.2
	github.com/stretchr/testify v1.12.1
)

require go.yaml.in/yaml/v3 v3.0.6 // indirect

replace github.com/ironstate/ironstate => ../..
