// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
)

func TestCleaningChangesTheBIOSSettings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, nil)
		n := f.node(states.Manageable)
		clean := func(step string, settings ...any) *conductor.Node {
			r := f.provision("clean")
			r.CleanSteps = []conductor.StepRequest{{Interface: "bios", Step: step}}
			if settings != nil {
				r.CleanSteps[0].Args = map[string]any{"settings": settings}
			}
			require.NoError(t, f.Provision(f.ctx, n.UUID, r))
			got := f.settle(n)
			require.Equal(t, states.Manageable, got.ProvisionState, got.LastError)
			return got
		}
		setting := func(name, value string) any { return map[string]any{"name": name, "value": value} }

		got := clean("apply_configuration", setting("speed", "full"), setting("noise", "none"))
		require.Len(t, got.BIOSSettings, 2)
		require.Equal(t, "noise", got.BIOSSettings[0].Name)
		require.Equal(t, "full", got.BIOSSettings[1].Value)
		require.Nil(t, got.BIOSSettings[1].UpdatedAt)
		created := got.BIOSSettings[1].CreatedAt

		got = clean("apply_configuration", setting("speed", "half"))
		require.Len(t, got.BIOSSettings, 1)
		require.Equal(t, "half", got.BIOSSettings[0].Value)
		require.Equal(t, created, got.BIOSSettings[0].CreatedAt)
		require.NotNil(t, got.BIOSSettings[0].UpdatedAt)

		require.Len(t, clean("cache_bios_settings").BIOSSettings, 1)
		require.Empty(t, clean("factory_reset").BIOSSettings)
	})
}

func TestAStepWithUnknownArgumentsIsRefused(t *testing.T) {
	for name, test := range map[string]struct {
		step conductor.StepRequest
		text string
	}{
		"unknown step": {
			conductor.StepRequest{Interface: "bios", Step: "nope"},
			"node does not support this clean step: {'interface': 'bios', 'step': 'nope'}",
		},
		"missing argument": {
			conductor.StepRequest{Interface: "bios", Step: "apply_configuration"},
			"clean step {'interface': 'bios', 'step': 'apply_configuration', 'abortable': False, 'priority': 0} is missing " +
				"these required arguments: settings (List of BIOS settings, each item needs to contain a dictionary with name/value pairs)",
		},
		"unexpected arguments": {
			conductor.StepRequest{Interface: "bios", Step: "factory_reset", Args: map[string]any{"b": 1, "a": 2}},
			"clean step {'interface': 'bios', 'step': 'factory_reset', 'args': {'a': 2, 'b': 1}, 'abortable': False, " +
				"'priority': 0} has these unexpected arguments: a, b",
		},
		"a wrong value": {
			conductor.StepRequest{Interface: "bios", Step: "apply_configuration", Args: map[string]any{"settings": "full"}},
			"'abortable': False, 'priority': 0}: settings: 'full' is not a list of objects with a name and a value",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := start(t, nil)
				n := f.node(states.Manageable)
				r := f.provision("clean")
				r.CleanSteps = []conductor.StepRequest{test.step}
				require.NoError(t, f.Provision(f.ctx, n.UUID, r))
				got := f.settle(n)
				require.Equal(t, states.CleanFail, got.ProvisionState)
				require.Contains(t, got.LastError, test.text)
			})
		})
	}
}

func TestStepsThatAClientNamesForADeployment(t *testing.T) {
	const refused = "Failed to validate deploy or power info for node "
	priority := func(p int) *int { return &p }
	for name, test := range map[string]struct {
		step    conductor.StepRequest
		refused string // empty: deployed
	}{
		"one that the hardware does not have": {step: conductor.StepRequest{Interface: "raid", Step: "nope", Priority: priority(50)}},
		"the core step": {
			step:    conductor.StepRequest{Interface: "deploy", Step: "deploy", Priority: priority(80)},
			refused: "is a core step",
		},
		"the core step left out": {
			step:    conductor.StepRequest{Interface: "deploy", Step: "deploy", Priority: priority(0)},
			refused: "none",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := start(t, nil)
				n := f.node(states.Available)
				r := f.provision("active")
				r.DeploySteps = []conductor.StepRequest{test.step}
				switch err := f.Provision(f.ctx, n.UUID, r); test.refused {
				case "":
					require.NoError(t, err)
					require.Equal(t, states.Active, f.settle(n).ProvisionState)
				case "none":
					require.NoError(t, err)
					got := f.settle(n)
					require.Equal(t, states.DeployFail, got.ProvisionState)
					require.Equal(t, "No deploy steps returned by the driver", got.LastError)
				default:
					require.ErrorIs(t, err, conductor.Unsuitable)
					require.ErrorContains(t, err, refused+n.UUID)
					require.ErrorContains(t, err, test.refused)
					require.Equal(t, states.Available, f.settle(n).ProvisionState)
				}
			})
		})
	}
}

func TestADeployStepThatNoInterfaceHasFailsTheDeployment(t *testing.T) {
	priority := 80
	coreos := []conductor.StepRequest{{Interface: "deploy", Step: "install_coreos", Args: map[string]any{}, Priority: &priority}}
	const missing = "node does not support this deploy step: {'interface': 'deploy', 'step': 'install_coreos', 'args': {}, 'priority': 80}"
	for name, test := range map[string]struct {
		simulated bool // the step is left out until a call-back, when an agent would have reported its steps
		template  bool // the step is a deploy template's
		text      string
	}{
		"requested":            {false, false, `Validation of deploy steps from "deploy steps" argument failed.` + missing},
		"requested, simulated": {true, false, `Validation of deploy steps from "deploy steps" argument failed.` + missing},
		"of a template": {
			false, true,
			"Validation of deploy steps from deploy templates matching this node's instance traits failed. Matching deploy " +
				"templates: CUSTOM_COREOS. Errors: " + missing,
		},
		"a template, simulated": {
			true, true,
			"Validation of deploy steps from deploy templates matching this node's instance traits failed. Matching deploy " +
				"templates: CUSTOM_COREOS. Errors: " + missing,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				change := withReal(nil)
				if test.simulated {
					change = nil
				}
				f := start(t, change)
				ran := false
				f.before(func(ctx context.Context, n *conductor.Node, operation string) error {
					if operation == "deploy.deploy" { // the power sync runs beside it
						ran = true
					}
					return waiting("deploy.deploy")(ctx, n, operation)
				})
				n := f.node(states.Available)
				r := f.provision("active")
				if test.template {
					_, err := f.CreateObject(f.ctx, &conductor.DeployTemplate{ObjectMeta: conductor.ObjectMeta{Name: "CUSTOM_COREOS"}, Steps: coreos})
					require.NoError(t, err)
					_, err = f.UpdateNode(f.ctx, n.UUID, func(n *conductor.Node) error {
						n.Traits = []string{"CUSTOM_COREOS", "CUSTOM_WITHOUT_TEMPLATE"}
						n.InstanceInfo = map[string]any{"traits": []any{"CUSTOM_WITHOUT_TEMPLATE", "CUSTOM_COREOS"}}
						return nil
					})
					require.NoError(t, err)
				} else {
					r.DeploySteps = coreos
				}
				require.NoError(t, f.Provision(f.ctx, n.UUID, r))
				got := f.settle(n)
				if test.simulated {
					require.Equal(t, states.DeployWait, got.ProvisionState, got.LastError)
					require.NoError(t, f.Resume(f.ctx, n.UUID, nil))
					got = f.settle(n)
				}
				require.Equal(t, states.DeployFail, got.ProvisionState)
				require.Equal(t, "Failed to validate the final deploy steps list for node "+n.UUID+": "+test.text, got.LastError)
				require.Equal(t, test.simulated, ran, "nothing was done on a machine")
			})
		})
	}
}

func TestStepsOfEqualPriorityRunInTheOrderOfIronicsInterfaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ran []string
		var steps []conductor.Step
		for _, kind := range []string{"bios", "deploy", "management", "power", "raid"} {
			steps = append(steps, conductor.Step{Interface: kind, Step: "erase", Priority: 10, Run: func(context.Context, *conductor.Task) error {
				ran = append(ran, kind)
				return nil
			}})
		}
		f := start(t, withReal(map[states.Work][]conductor.Step{states.WorkClean: steps}))
		n := f.node(states.Manageable)
		f.request(n, "provide")
		require.Equal(t, states.Available, f.settle(n).ProvisionState)
		require.Equal(t, []string{"power", "management", "deploy", "bios", "raid"}, ran)
	})
}

func TestADeploymentAndAnAdoptionRecordTheTypeOfTheImage(t *testing.T) {
	for name, test := range map[string]struct {
		info map[string]any
		want any
	}{
		"a disk":          {map[string]any{"image_source": "http://192.0.2.9/image"}, "whole-disk"},
		"a partition":     {map[string]any{"image_source": "http://192.0.2.9/image", "kernel": "http://192.0.2.9/kernel"}, "partition"},
		"set by a client": {map[string]any{"image_source": "file:///image", "image_type": "partition"}, "partition"},
		"a folder":        {map[string]any{"image_source": "http://192.0.2.9/"}, nil},
		"in Glance":       {map[string]any{"image_source": "7a0b6a5c-5c5e-4b0e-9a0e-0a8f2f6f2a11"}, nil},
	} {
		for word, from := range map[string]states.State{"active": states.Available, "rebuild": states.DeployFail, "adopt": states.Manageable} {
			t.Run(name+", "+word, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f := start(t, nil)
					n := f.node(from)
					_, err := f.UpdateNode(f.ctx, n.UUID, func(n *conductor.Node) error { n.InstanceInfo = test.info; return nil })
					require.NoError(t, err)
					f.request(n, word)
					got := f.settle(n)
					require.Equal(t, states.Active, got.ProvisionState, got.LastError)
					require.Equal(t, test.want, got.InstanceInfo["image_type"])
				})
			})
		}
	}
}

func TestStepsOfAnInterfaceThatTheNodeLacksFailItsCleaning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, nil)
		n := f.node(states.Manageable)
		_, err := f.UpdateNode(f.ctx, n.UUID, func(n *conductor.Node) error {
			n.Interfaces = map[string]string{"bios": "no-bios", "raid": "no-raid"}
			return nil
		})
		require.NoError(t, err)
		r := f.provision("clean")
		r.CleanSteps = []conductor.StepRequest{
			{Interface: "bios", Step: "factory_reset"}, {Interface: "raid", Step: "x", Args: map[string]any{"admin_password": "hunter2"}},
		}
		require.NoError(t, f.Provision(f.ctx, n.UUID, r))
		got := f.settle(n)
		require.Equal(t, states.CleanFail, got.ProvisionState)
		require.Equal(t, "Cannot clean node "+n.UUID+": node does not support this clean step: {'interface': 'bios', 'step': 'factory_reset'}; "+
			"node does not support this clean step: {'interface': 'raid', 'step': 'x', 'args': {'admin_password': '******'}}", got.LastError)
		require.False(t, got.Maintenance, "no step has run")
		problems, err := f.Validate(f.ctx, n.UUID)
		require.NoError(t, err)
		require.EqualError(t, problems["bios"], "Driver fake-hardware does not support bios (disabled or not implemented).")
		require.NoError(t, problems["power"])
	})
}

func TestCleaningFailsWhereTheNodeCannotBePrepared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, nil)
		f.before(failing("prepare"))
		n := f.node(states.Manageable)
		_, err := f.UpdateNode(f.ctx, n.UUID, func(n *conductor.Node) error {
			n.Interfaces = map[string]string{"deploy": "direct"}
			return nil
		})
		require.NoError(t, err)
		f.request(n, "provide")
		got := f.settle(n)
		require.Equal(t, states.CleanFail, got.ProvisionState)
		require.Equal(t, "prepare the node for its steps: no route to host", got.LastError)
	})
}

func TestACleaningThatIsSkippedKeepsTheStepsOfAnEarlierOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, nil)
		n := f.node(states.Manageable)
		_, err := f.UpdateNode(f.ctx, n.UUID, func(n *conductor.Node) error {
			n.AutomatedClean = new(bool)
			return nil
		})
		require.NoError(t, err)
		r := f.provision("clean")
		r.CleanSteps = []conductor.StepRequest{{Interface: "deploy", Step: "no such step"}}
		require.NoError(t, f.Provision(f.ctx, n.UUID, r))
		failed := f.settle(n)
		require.Equal(t, states.CleanFail, failed.ProvisionState)
		require.NotEmpty(t, failed.CleanSteps.Requested)
		for _, word := range []string{"manage", "provide"} {
			require.NoError(t, f.Provision(f.ctx, n.UUID, f.provision(word)))
			f.settle(n)
		}
		got := f.settle(n)
		require.Equal(t, states.Available, got.ProvisionState)
		require.Equal(t, failed.CleanSteps, got.CleanSteps)
	})
}

// sharedValidation is a hardware type that returns the same map for all nodes.
type sharedValidation struct {
	*conductor.Fake
	problems map[string]error
}

func (h sharedValidation) Validate(*conductor.Node) map[string]error { return h.problems }

func TestTheMapOfAHardwareTypeIsNotChangedForANodeThatLacksAnInterface(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := map[string]error{"bios": nil, "power": nil}
		f := start(t, func(c *conductor.Config) {
			c.Hardware["fake-hardware"] = sharedValidation{&conductor.Fake{}, shared}
		})
		n := f.node(states.Manageable)
		_, err := f.UpdateNode(f.ctx, n.UUID, func(n *conductor.Node) error {
			n.Interfaces = map[string]string{"bios": "no-bios"}
			return nil
		})
		require.NoError(t, err)
		problems, err := f.Validate(f.ctx, n.UUID)
		require.NoError(t, err)
		require.Error(t, problems["bios"])
		require.Equal(t, map[string]error{"bios": nil, "power": nil}, shared)
	})
}
