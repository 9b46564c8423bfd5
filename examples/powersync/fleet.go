package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

// role is how a machine behaves.
type role uint8

const (
	healthy    role = iota
	enroll          // its node is in enroll
	liar            // its BMC always reports that it is off
	hanging         // its BMC does not end its answers
	dead            // its BMC's port is closed
	behindBack      // disturb switches it off
	numRoles
)

var roleWords = [numRoles]string{"healthy", "in enroll", "lying", "hanging", "dead", "switched behind our back"}

// roleOf assigns the roles in turn, so that 200 machines include each role.
func roleOf(i int) role {
	switch i % 20 {
	case 3:
		return enroll
	case 6:
		return liar
	case 9:
		return hanging
	case 12:
		return dead
	case 15, 17, 19:
		return behindBack
	default:
		return healthy
	}
}

const systemID = "1"

type machine struct {
	id   string
	role role
	bmc  *bmctest.Redfish
}

type fleet struct {
	machines []machine
	records  powersync.Memory
}

func openFleet(n int) (*fleet, error) {
	f := &fleet{machines: make([]machine, n)}
	errs := make([]error, n)
	f.each(func(i int, m *machine) {
		m.id = fmt.Sprintf("node-%03d", i)
		m.role = roleOf(i)
		m.bmc, errs[i] = bmctest.NewRedfish(bmctest.RedfishConfig{
			Systems: []bmctest.System{{ID: systemID, Power: "On"}},
			Faults:  faults(m.role),
		})
	})
	if err := errors.Join(errs...); err != nil {
		f.close()
		return nil, err
	}
	for _, m := range f.machines {
		f.records.Put(recordOf(m))
	}
	return f, nil
}

// each runs call for all machines concurrently.
func (f *fleet) each(call func(i int, m *machine)) {
	var all sync.WaitGroup
	for i := range f.machines {
		all.Go(func() { call(i, &f.machines[i]) })
	}
	all.Wait()
}

func recordOf(m machine) powersync.Record {
	if m.role == enroll {
		return powersync.Record{ID: m.id, ProvisionState: states.Enroll}
	}
	return powersync.Record{ID: m.id, ProvisionState: states.Active, Power: states.PowerOn}
}

func faults(r role) []bmctest.Fault {
	const system = "/redfish/v1/Systems/" + systemID
	switch r {
	case liar:
		return []bmctest.Fault{{On: system, Method: http.MethodGet, Do: bmctest.Property("PowerState", "Off")}}
	case hanging:
		return []bmctest.Fault{{On: system, Method: http.MethodGet, Do: bmctest.HangAfter(20)}}
	case dead:
		return []bmctest.Fault{{Do: bmctest.Refuse()}}
	default:
		return nil
	}
}

func (f *fleet) close() {
	f.each(func(_ int, m *machine) {
		if m.bmc != nil {
			m.bmc.Close()
		}
	})
}

// roles returns a text with the number of machines of each role.
func (f *fleet) roles() string {
	var count [numRoles]int
	for _, m := range f.machines {
		count[m.role]++
	}
	var parts []string
	for r, n := range count {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, roleWords[r]))
		}
	}
	return strings.Join(parts, ", ")
}

// disturb switches the machines of the role behindBack off: every other one in even
// rounds, the rest in odd ones.
func (f *fleet) disturb(round int) {
	switched := 0
	for _, m := range f.machines {
		if m.role != behindBack {
			continue
		}
		if switched++; switched%2 == round%2 {
			_ = m.bmc.SetPower(systemID, "Off") // the system exists
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// repair makes all BMCs healthy.
func (f *fleet) repair() error {
	var errs []error
	for _, m := range f.machines {
		errs = append(errs, m.bmc.ClearFaults())
	}
	return errors.Join(errs...)
}

// check returns an error unless all recorded power states agree with the hardware, no
// node is in maintenance, and no BMC of a node in enroll got a request.
func (f *fleet) check() error {
	var errs []error
	for _, m := range f.machines {
		r, err := f.records.Load(context.Background(), m.id)
		switch {
		case err != nil:
			errs = append(errs, err)
		case m.role == enroll && len(m.bmc.Requests()) > 0:
			errs = append(errs, fmt.Errorf("%s is in enroll and was asked", m.id))
		case m.role != enroll && (r.Maintenance || wordOf[r.Power] != m.bmc.Power(systemID)):
			errs = append(errs, fmt.Errorf("%s is %s, recorded is %+v", m.id, m.bmc.Power(systemID), r))
		}
	}
	return errors.Join(errs...)
}

var wordOf = map[states.Power]string{
	states.PowerOn:  "On",
	states.PowerOff: "Off",
}
