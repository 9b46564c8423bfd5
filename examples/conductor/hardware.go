package main

import (
	"context"
	"errors"
	"time"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/hardware"
)

// logoutTimeout bounds the log-out of all BMCs when the program ends.
const logoutTimeout = 3 * time.Second

// newHardware returns the hardware types, and the function that logs out of the BMCs.
func newHardware() (map[string]conductor.Hardware, func(), error) {
	redfish, err := hardware.NewRedfish(hardware.Config{Sessions: maxSessions})
	if err != nil {
		return nil, nil, err
	}
	ipmi, err := hardware.NewIPMI(hardware.Config{})
	if err != nil {
		return nil, nil, err
	}
	closeAll := func() {
		ctx, cancel := context.WithTimeout(context.Background(), logoutTimeout)
		defer cancel()
		_ = errors.Join(redfish.Close(ctx), ipmi.Close(ctx)) // a BMC that does not answer ends its sessions itself
	}
	return map[string]conductor.Hardware{"fake-hardware": &conductor.Fake{}, "redfish": redfish, "ipmi": ipmi}, closeAll, nil
}

// maxSessions is how many Redfish sessions are kept open between two reads of the
// power state.
const maxSessions = 10_000
