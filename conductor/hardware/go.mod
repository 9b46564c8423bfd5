module github.com/ironstate/ironstate/conductor/hardware

go 1.25.0

require (
	github.com/bmc-toolbox/bmclib/v2 v2.3.5
	github.com/bmc-toolbox/common v0.0.0-20250112191656-b6de52e8303d
	github.com/diskfs/go-diskfs v1.9.4
	github.com/google/uuid v1.6.0
	github.com/ironstate/ironstate v0.0.0
	github.com/ironstate/ironstate/conductor v0.0.0
	github.com/ironstate/ironstate/verify/bmc v0.0.0
	github.com/jacobweinstock/registrar v0.4.7
	github.com/stretchr/testify v1.12.1
	golang.org/x/net v0.47.0
)

require (
	dario.cat/mergo v1.0.1 // indirect
	github.com/Jeffail/gabs/v2 v2.7.0 // indirect
	github.com/VictorLowther/simplexml v0.0.0-20180716164440-0bff93621230 // indirect
	github.com/VictorLowther/soap v0.0.0-20150314151524-8e36fca84b22 // indirect
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/djherbis/times v1.6.0 // indirect
	github.com/ghodss/yaml v1.0.0 // indirect
	github.com/go-logr/logr v1.4.4 // indirect
	github.com/hashicorp/errwrap v1.1.0 // indirect
	github.com/hashicorp/go-multierror v1.1.1 // indirect
	github.com/jacobweinstock/iamt v0.0.0-20230502042727-d7cdbe67d9ef // indirect
	github.com/lima-vm/go-qcow2reader v0.7.0 // indirect
	github.com/pkg/errors v0.9.1 // indirect
	github.com/satori/go.uuid v1.2.0 // indirect
	github.com/stmcginnis/gofish v0.20.0 // indirect
	go.opentelemetry.io/otel v1.29.0 // indirect
	go.opentelemetry.io/otel/trace v1.29.0 // indirect
	go.uber.org/goleak v1.3.0 // indirect
	go.yaml.in/yaml/v3 v3.0.6 // indirect
	golang.org/x/crypto v0.45.0 // indirect
	golang.org/x/sys v0.43.0 // indirect
	golang.org/x/text v0.31.0 // indirect
	gopkg.in/yaml.v2 v2.4.0 // indirect
)

replace (
	github.com/ironstate/ironstate => ../..
	github.com/ironstate/ironstate/conductor => ..
	github.com/ironstate/ironstate/verify/bmc => ../../verify/bmc
)
