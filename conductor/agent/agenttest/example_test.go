// SPDX-License-Identifier: Apache-2.0

package agenttest_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/agent/agenttest"
	"github.com/ironstate/ironstate/conductor/conductortest"
	"github.com/ironstate/ironstate/states"
)

// A deployment on fake-hardware waits until the machine's agent has booted.
func ExampleMachine() {
	ironic, err := conductortest.Start(conductortest.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer ironic.Close()
	node := ironic.Add(conductor.Node{Name: "rack1-7", ProvisionState: states.Available})
	port := &conductor.Port{ObjectMeta: conductor.ObjectMeta{NodeUUID: node.UUID}, Address: "52:54:00:00:00:07"}
	if _, err := ironic.Conductor.CreateObject(context.Background(), port); err != nil {
		fmt.Println(err)
		return
	}
	ironic.Next(node, "deploy.deploy", func(context.Context) error { return conductor.ErrWait })

	machine, err := agenttest.New(agenttest.Config{API: ironic.URL, MACs: []string{port.Address}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer machine.Close()
	if err := ironic.Conductor.Provision(context.Background(), node.UUID, conductor.ProvisionRequest{Target: "active"}); err != nil {
		fmt.Println(err)
		return
	}
	machine.Power(true, "Pxe", "")
	fmt.Println(ironic.WaitFor(context.Background(), node.UUID, states.Active).ProvisionState)
	// Output: active
}

func ExampleBootIPXE() {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/boot.ipxe" {
			fmt.Fprintf(w, "#!ipxe\nkernel http://%[1]s/kernel initrd=ramdisk quiet BOOTIF=${mac}\ninitrd --name ramdisk "+
				"http://%[1]s/ramdisk\nboot\n", r.Host)
			return
		}
		fmt.Fprintln(w, "a file")
	}))
	defer web.Close()
	parameters, err := agenttest.BootIPXE(context.Background(), web.Client(), web.URL+"/boot.ipxe", []string{"52:54:00:12:34:56"})
	fmt.Println(parameters, err)
	// Output: quiet BOOTIF=52:54:00:12:34:56 <nil>
}
