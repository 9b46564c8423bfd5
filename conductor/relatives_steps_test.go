// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/agent"
	"github.com/ironstate/ironstate/internal/bubble"
	"github.com/ironstate/ironstate/states"
)

// onChildren returns a request for steps on child nodes.
func (f *family) onChildren(target, kind, step string, names ...string) conductor.ProvisionRequest {
	r := f.provision(target)
	request := conductor.StepRequest{Interface: kind, Step: step, OnChildren: true}
	for _, name := range names {
		request.Children = append(request.Children, f.nodes[name].UUID)
	}
	r.CleanSteps = []conductor.StepRequest{request}
	r.ServiceSteps = r.CleanSteps
	return r
}

func TestAStepForChildNodesRunsOnTheChildrenAlone(t *testing.T) {
	for _, test := range []struct {
		names []string
		did   []string
	}{
		{nil, []string{"bios.factory_reset of a", "bios.factory_reset of b", "power off of a", "power off of b"}},
		{[]string{"b"}, []string{"bios.factory_reset of b", "power off of b"}},
	} {
		for target, state := range map[string]states.State{"clean": states.Manageable, "service": states.Active} {
			synctest.Test(t, func(t *testing.T) {
				f := startFamily(t, states.Hibiscus, states.PowerOn, nil, map[string]*conductor.Node{
					"parent": {ProvisionState: state}, "a": nil, "b": {ProvisionState: states.Active, BIOSSettings: []conductor.BIOSSetting{{Name: "x"}}},
				})
				request := f.onChildren(target, "bios", "factory_reset", test.names...)
				off := f.onChildren(target, "power", "power_off", test.names...).CleanSteps[0]
				request.CleanSteps = append(request.CleanSteps, off, conductor.StepRequest{Step: "hold"})
				request.ServiceSteps = request.CleanSteps
				require.NoError(t, f.Provision(f.ctx, f.nodes["parent"].UUID, request))
				held := f.read("parent")
				steps := held.CleanSteps
				if target == "service" {
					steps = held.ServiceSteps
				}
				require.Equal(t, conductor.Step{
					Interface: "bios", Step: "factory_reset", Requested: true, OnChildren: true, Children: request.CleanSteps[0].Children,
				}, steps.Planned[0])
				f.request(f.nodes["parent"], "unhold")
				require.NoError(t, f.Resume(f.ctx, f.nodes["parent"].UUID, nil))
				got := f.read("parent")
				require.Equal(t, state, got.ProvisionState, got.LastError)
				require.Equal(t, test.did, f.did)
				require.Equal(t, states.Active, f.read("b").ProvisionState)
				require.Empty(t, f.read("b").BIOSSettings)
				f.free()
			})
		}
	}
}

func TestAStepForChildNodesRunsOnThemAfterACallBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFamily(t, states.Hibiscus, states.PowerOn, nil, map[string]*conductor.Node{"a": nil})
		f.fails(map[string]error{"bios.cache_bios_settings of parent": conductor.ErrWait})
		request := f.onChildren("clean", "bios", "factory_reset")
		request.CleanSteps = append([]conductor.StepRequest{{Interface: "bios", Step: "cache_bios_settings"}}, request.CleanSteps...)
		require.NoError(t, f.Provision(f.ctx, f.nodes["parent"].UUID, request))
		require.Equal(t, states.CleanWait, f.read("parent").ProvisionState)
		require.NoError(t, f.Resume(f.ctx, f.nodes["parent"].UUID, nil))
		got := f.read("parent")
		require.Equal(t, states.Manageable, got.ProvisionState, got.LastError)
		require.Equal(t, []string{"bios.cache_bios_settings of parent", "bios.factory_reset of a"}, f.did)
		f.free()
	})
}

func TestPowerStepsForChildNodesSetThePowerOfTheChildren(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFamily(t, states.Hibiscus, states.PowerOn, nil, map[string]*conductor.Node{"a": nil})
		require.NoError(t, f.Provision(f.ctx, f.nodes["parent"].UUID, f.onChildren("clean", "power", "power_off")))
		require.Empty(t, f.read("parent").LastError)
		require.Equal(t, states.PowerOff, f.read("a").Power)
		require.Equal(t, []string{"power off of a"}, f.did)
		f.free()
	})
}

func TestAStepThatAChildCannotRunFailsTheParent(t *testing.T) {
	for name, test := range map[string]struct {
		kind, step string
		only       string // the child to which the step is limited
		change     func(*conductor.Node)
		text       string
		did        []string
	}{
		"unknown":      {"bios", "no_step", "", nil, "the hardware type has no step bios.no_step", nil},
		"held":         {"power", "hold", "", nil, "step power.hold is impossible on a child node, since it waits", nil},
		"waiting":      {"power", "wait", "", nil, "step power.wait is impossible on a child node, since it waits", nil},
		"of the agent": {"deploy", "erase_devices", "", nil, "step deploy.erase_devices is impossible on a child node, since it waits", nil},
		"that waits": {
			"vendor", "trigger_servicewait", "", nil, "While executing step vendor.trigger_servicewait on child node ",
			[]string{"vendor.trigger_servicewait of a"},
		},
		"locked": {
			"bios", "factory_reset", "", func(n *conductor.Node) { n.Reservation, n.Claim = "beta", otherMember },
			"is locked by host beta", nil,
		},
		"another driver": {
			"bios", "factory_reset", "", func(n *conductor.Node) { n.Driver = "other" },
			`no conductor has the hardware type "other"`, nil,
		},
		"of no child": {"bios", "factory_reset", "parent", nil, "is no child of node", nil},
		"broken":      {"bios", "cache_bios_settings", "", nil, "broken", []string{"bios.cache_bios_settings of a"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			a := child(states.PowerOn)
			a.Interfaces = map[string]string{"deploy": "direct"}
			erase := agent.StepName{Interface: "deploy", Step: "erase_devices"}
			a.Agent.Steps = map[agent.Work]conductor.AgentSteps{agent.Service: {Steps: []agent.Step{{StepName: erase}}}}
			if test.change != nil {
				test.change(a)
			}
			f := startFamily(t, states.Hibiscus, states.PowerOn, nil, map[string]*conductor.Node{"parent": {ProvisionState: states.Active}, "a": a})
			f.fails(map[string]error{"bios.cache_bios_settings of a": errors.New("broken")})
			var names []string
			if test.only != "" {
				names = []string{test.only}
			}
			require.NoError(t, f.Provision(f.ctx, f.nodes["parent"].UUID, f.onChildren("service", test.kind, test.step, names...)))
			bubble.Sleep(5 * time.Second)
			got := f.read("parent")
			require.Equal(t, states.ServiceFail, got.ProvisionState, name)
			require.Contains(t, got.LastError,
				"failed step {'interface': '"+test.kind+"', 'step': '"+test.step+"', 'execute_on_child_nodes': True", name)
			require.Contains(t, got.LastError, test.text, name)
			require.Equal(t, test.only != "", strings.Contains(got.LastError, "'limit_child_node_execution': ['"+f.nodes["parent"].UUID+"']"))
			require.Equal(t, test.did, f.did, name)
			f.free()
		})
	}
}
