// SPDX-License-Identifier: Apache-2.0

// Powersync syncs the recorded power states of a fleet of nodes. It starts its own machines with Redfish BMCs: some
// report a wrong power state, some hang, some are dead, and some machines are switched off behind the syncer's back.
// Some nodes are in enroll; their BMCs get no requests.
//
//	go run ./examples/powersync -nodes 50 -rounds 6 -metrics 127.0.0.1:9100
//
// After the rounds it repairs the BMCs; a recovery round takes their nodes out of maintenance.
// The exit status is 0 if then every record agrees with the hardware, and 1 if not.
package main

import (
	"context"
	"errors"
	"expvar"
	"flag"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify/bmc"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
	"github.com/ironstate/ironstate/verify/secret"
)

// fleet is the machines by the IDs of their nodes, and the records.
type fleet struct {
	bmcs      map[string]*bmctest.Redfish
	disturbed []*bmctest.Redfish // whose machines are switched off behind the syncer's back
	hanging   map[string]bool    // the IDs of nodes whose BMCs hang
	records   powersync.Memory
}

// openFleet starts machines; of each 20, one has a node in enroll and six misbehave.
func openFleet(n int) (*fleet, error) {
	f := &fleet{bmcs: map[string]*bmctest.Redfish{}, hanging: map[string]bool{}}
	for i := range n {
		record := powersync.Record{ID: fmt.Sprintf("node-%03d", i), ProvisionState: states.Active, Power: states.PowerOn}
		config := bmctest.RedfishConfig{Systems: []bmctest.System{{ID: "1", Power: "On"}}}
		const system = "/redfish/v1/Systems/1"
		switch i % 20 {
		case 3:
			record = powersync.Record{ID: record.ID, ProvisionState: states.Enroll}
		case 6:
			config.Faults = []bmctest.Fault{{On: system, Method: http.MethodGet, Do: bmctest.Property("PowerState", "Off")}}
		case 9:
			config.Faults = []bmctest.Fault{{On: system, Method: http.MethodGet, Do: bmctest.HangAfter(20)}}
			f.hanging[record.ID] = true
		case 12:
			config.Faults = []bmctest.Fault{{Do: bmctest.Refuse()}}
		}
		server, err := bmctest.NewRedfish(config)
		if err != nil {
			return f, err
		}
		f.bmcs[record.ID] = server
		f.records.Put(record)
		if i%20 == 15 || i%20 == 17 || i%20 == 19 {
			f.disturbed = append(f.disturbed, server)
		}
	}
	return f, nil
}

// config returns the BMC of a node, for the driver.
func (f *fleet) config(_ context.Context, id string) (bmc.Config, error) {
	server := f.bmcs[id]
	c := bmc.Config{Host: server.Host, RedfishPort: server.Port, RootCAs: server.CertPool, User: bmctest.DefaultUser,
		Password: secret.New(bmctest.DefaultPassword), Protocol: "redfish",
		Pause: 50 * time.Millisecond} // the default of 3 s is for real BMCs
	if f.hanging[id] {
		c.Timeout = 1500 * time.Millisecond // the others have the default
	}
	return c, nil
}

// check returns an error unless the records agree with the hardware and no BMC of a node in enroll got a request.
func (f *fleet) check(ctx context.Context) error {
	words := map[states.Power]string{states.PowerOn: "On", states.PowerOff: "Off"} // Redfish's
	for id, server := range f.bmcs {
		r, err := f.records.Load(ctx, id)
		switch {
		case err != nil:
			return err
		case r.ProvisionState == states.Enroll && len(server.Requests()) > 0:
			return fmt.Errorf("%s is in enroll, but its BMC got a request", id)
		case r.ProvisionState != states.Enroll && (r.Maintenance || words[r.Power] != server.Power("1")):
			return fmt.Errorf("%s is %s, but its record is %+v", id, server.Power("1"), r)
		}
	}
	return nil
}

func main() {
	nodes := flag.Int("nodes", 200, "number of machines")
	rounds := flag.Int("rounds", 5, "number of rounds before the BMCs are repaired")
	metrics := flag.String("metrics", "", "serve the syncer's counters at /debug/vars of this `HOST:PORT`")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *nodes, *rounds, *metrics); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, nodes, rounds int, metrics string) error {
	fleet, err := openFleet(nodes)
	if err != nil {
		return err
	}
	driver, err := bmc.NewDriver(bmc.DriverConfig{Sessions: nodes, Lookup: fleet.config})
	if err != nil {
		return err
	}
	defer driver.Close(context.WithoutCancel(ctx))
	syncer, err := powersync.New(powersync.Config{Store: &fleet.records, Driver: driver, Name: "examples/powersync", Workers: 32})
	if err != nil {
		return err
	}
	if metrics != "" {
		expvar.Publish("powersync", expvar.Func(func() any { return syncer.Stats() }))
		go func() { log.Print(http.ListenAndServe(metrics, nil)) }() // package expvar has registered its handler
	}
	for i := range rounds { // after a disturbance each
		for j, server := range fleet.disturbed {
			if j%2 == i%2 {
				err = errors.Join(err, server.SetPower("1", "Off"))
			}
		}
		report, failed := syncer.Sync(ctx)
		fmt.Printf("[%d of %d] %v\n", i+1, rounds, report)
		if err := errors.Join(err, failed); err != nil {
			return err
		}
	}
	for _, server := range fleet.bmcs {
		err = errors.Join(err, server.ClearFaults())
	}
	clear(fleet.hanging)
	fmt.Println("The broken BMCs are repaired.")
	recovered, failed := syncer.Recover(ctx)
	synced, failedAgain := syncer.Sync(ctx)
	fmt.Printf("[repaired] %v\n[last] %v\n", recovered, synced)
	return errors.Join(err, failed, failedAgain, fleet.check(ctx))
}
