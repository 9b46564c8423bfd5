package main

import (
	"context"
	"fmt"

	"github.com/ironstate/ironstate/verify/bmc"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
	"github.com/ironstate/ironstate/verify/secret"
)

// driver returns a driver for the BMCs of the fleet. It keeps a session open with each BMC.
func (f *fleet) driver() (*bmc.Driver, error) {
	configs := make(map[string]bmc.Config, len(f.machines))
	for _, m := range f.machines {
		configs[m.id] = bmc.Config{
			Host:        m.bmc.Host,
			RedfishPort: m.bmc.Port,
			RootCAs:     m.bmc.CertPool,
			User:        bmctest.DefaultUser,
			Password:    secret.New(bmctest.DefaultPassword),
			Protocol:    "redfish",
			Timeout:     bmcTimeout,
		}
	}
	return bmc.NewDriver(bmc.DriverConfig{
		Sessions: len(configs),
		Lookup: func(_ context.Context, id string) (bmc.Config, error) {
			c, ok := configs[id]
			if !ok {
				return c, fmt.Errorf("there is no machine %q", id)
			}
			return c, nil
		},
	})
}
