// SPDX-License-Identifier: Apache-2.0

package machinetest_test

import (
	"bytes"
	"testing"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/agent/agenttest"
	"github.com/ironstate/ironstate/conductor/hardware/machinetest"
	"github.com/ironstate/ironstate/states"
)

// This test drives a controller. Here, requests of the test stand for it.
func testOfInstall(t *testing.T) {
	lab := machinetest.New(t, machinetest.Config{})
	lab.Enroll("rack1-7")
	image := agenttest.Image(3<<20, 7)

	for _, step := range []struct {
		target string
		ends   states.State
	}{{"manage", states.Manageable}, {"provide", states.Available}, {"active", states.Active}} {
		_, err := lab.Conductor.UpdateNode(t.Context(), "rack1-7", func(n *conductor.Node) error {
			n.InstanceInfo = lab.InstanceInfo(image)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		request(t, lab, step.target)
		lab.WaitFor(t.Context(), "rack1-7", step.ends)
	}
	if !bytes.Equal(image[512:], lab.Disk()[512:len(image)]) {
		t.Error("the image is not on the disk")
	}
}

func ExampleNew() { testOfInstall(new(testing.T)) } // in a real test, go test passes t
