module github.com/ironstate/ironstate

go 1.23.0

require (
	github.com/cockroachdb/datadriven v1.0.2
	github.com/emicklei/dot v1.6.2
	github.com/looplab/fsm v1.0.3
	github.com/stretchr/testify v1.9.0
	go.uber.org/goleak v1.2.1
	pgregory.net/rapid v1.2.0
)

require (
	github.com/davecgh/go-spew v1.1.1 // indirect
	github.com/kr/text v0.2.0 // indirect
	github.com/pmezard/go-difflib v1.0.0 // indirect
	gopkg.in/yaml.v3 v3.0.1 // indirect
)
