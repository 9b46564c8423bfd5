// SPDX-License-Identifier: Apache-2.0

package hardwaretest_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/hardwaretest"
	"github.com/ironstate/ironstate/states"
)

// broken is fake-hardware with some methods replaced.
type broken struct {
	*conductor.Fake
	describe func() conductor.Description
	validate func(*conductor.Node) map[string]error
	verify   func(context.Context, *conductor.Node) (states.Power, error)
	read     func(context.Context, *conductor.Node) (states.Power, error)
	set      func(context.Context, *conductor.Node, states.Power) error
	steps    func(*conductor.Node, states.Work) []conductor.Step
	boot     func(context.Context, *conductor.Node, string, bool) error
	boots    func(context.Context, *conductor.Node) (string, bool, error)
}

// newBroken returns fake-hardware whose methods can be replaced.
func newBroken(f *conductor.Fake) *broken {
	return &broken{f, f.Describe, f.Validate, f.Verify, f.PowerState, f.SetPower, f.Steps, f.SetBootDevice, f.BootDevice}
}

func (b *broken) Describe() conductor.Description { return b.describe() }

func (b *broken) Validate(n *conductor.Node) map[string]error { return b.validate(n) }

func (b *broken) Verify(ctx context.Context, n *conductor.Node) (states.Power, error) {
	return b.verify(ctx, n)
}

func (b *broken) PowerState(ctx context.Context, n *conductor.Node) (states.Power, error) {
	return b.read(ctx, n)
}

func (b *broken) SetPower(ctx context.Context, n *conductor.Node, power states.Power) error {
	return b.set(ctx, n, power)
}

func (b *broken) Steps(n *conductor.Node, work states.Work) []conductor.Step {
	return b.steps(n, work)
}

func (b *broken) SetBootDevice(ctx context.Context, n *conductor.Node, device string, persistent bool) error {
	return b.boot(ctx, n, device, persistent)
}

func (b *broken) BootDevice(ctx context.Context, n *conductor.Node) (string, bool, error) {
	return b.boots(ctx, n)
}

// bootFrom gives the machine a boot device. Its BMC has it set persistently if keeps returns true, and refuses what
// keeps refuses.
func (b *broken) bootFrom(f *conductor.Fake, keeps func(persistent bool) (bool, error)) {
	var kept atomic.Bool
	b.boot = func(ctx context.Context, n *conductor.Node, device string, persistent bool) error {
		if err := f.SetBootDevice(ctx, n, device, persistent); err != nil {
			return err
		}
		held, err := keeps(persistent)
		if err != nil {
			return err
		}
		if _, err := f.PowerState(ctx, n); err != nil { // the request
			return err
		}
		kept.Store(held)
		return nil
	}
	b.boots = func(context.Context, *conductor.Node) (string, bool, error) { return "pxe", kept.Load(), nil }
}

// A promise that no hardware type could break would not be checked.
func TestABrokenPromiseIsReported(t *testing.T) {
	steps := func(change func(*conductor.Step)) func(b *broken, f *conductor.Fake) {
		return func(b *broken, f *conductor.Fake) {
			b.steps = func(n *conductor.Node, work states.Work) []conductor.Step {
				all := f.Steps(n, work)
				if len(all) > 0 {
					change(&all[0])
				}
				return all
			}
		}
	}
	without := func(kind string) func(b *broken, f *conductor.Fake) {
		return func(b *broken, f *conductor.Fake) {
			b.describe = func() conductor.Description {
				d := f.Describe()
				delete(d.Interfaces, kind)
				return d
			}
		}
	}
	invalid := func(err error) func(b *broken, f *conductor.Fake) {
		return func(b *broken, f *conductor.Fake) {
			b.validate = func(n *conductor.Node) map[string]error {
				all := f.Validate(n)
				if n.DriverInfo["B1"] != "a" {
					all["power"] = err
				}
				return all
			}
		}
	}
	refusal := &conductor.Error{Reason: conductor.Invalid, Text: "no"}
	// A node without its B1 has an invalid management interface, which sets a boot device by set.
	invalidManagement := func(set func(*conductor.Node) error) func(b *broken, f *conductor.Fake) {
		return func(b *broken, f *conductor.Fake) {
			b.validate = func(n *conductor.Node) map[string]error {
				all := f.Validate(n)
				if n.DriverInfo["B1"] != "a" {
					all["management"] = refusal
				}
				return all
			}
			b.boot = func(ctx context.Context, n *conductor.Node, device string, persistent bool) error {
				if n.DriverInfo["B1"] != "a" {
					return set(n)
				}
				n.DriverInternalInfo = map[string]any{"boot_device": device}
				return f.SetBootDevice(ctx, n, device, persistent)
			}
		}
	}
	for text, set := range map[string]func(*broken, *conductor.Fake){
		"there is no interface of the kind power": without("power"),
		"there is no interface of the kind boot":  without("boot"),
		"a caller that changes a description": func(b *broken, f *conductor.Fake) {
			shared := f.Describe()
			var calls atomic.Int32
			b.describe = func() conductor.Description {
				if calls.Add(1) > 2 { // the conductor would race with the change
					return f.Describe()
				}
				return shared
			}
		},
		`has the description ""`: func(b *broken, f *conductor.Fake) {
			b.describe = func() conductor.Description {
				d := f.Describe()
				d.Properties["B3"] = ""
				return d
			}
		},
		"want different ones": func(b *broken, f *conductor.Fake) {
			b.describe = func() conductor.Description {
				d := f.Describe()
				d.Interfaces["raid"] = []string{"fake", "fake"}
				return d
			}
		},
		"a validation changes the record": func(b *broken, f *conductor.Fake) {
			var once sync.Once // or the conductor would race with the change
			b.validate = func(n *conductor.Node) map[string]error {
				once.Do(func() { n.Name = "a" })
				return f.Validate(n)
			}
		},
		"has <nil> for management": func(b *broken, f *conductor.Fake) {
			b.validate = func(n *conductor.Node) map[string]error {
				all := f.Validate(n)
				delete(all, "management")
				return all
			}
		},
		"a validation sent 1 requests": func(b *broken, f *conductor.Fake) {
			b.validate = func(n *conductor.Node) map[string]error {
				_, _ = f.PowerState(context.Background(), n)
				return f.Validate(n)
			}
		},
		"contains the secret 0": func(b *broken, f *conductor.Fake) {
			b.validate = func(n *conductor.Node) map[string]error {
				return map[string]error{"power": nil, "management": nil, "raid": &conductor.Error{Reason: conductor.Invalid, Text: "not " + secret}}
			}
		},
		"matches neither conductor.Invalid nor": invalid(errors.New("plain")),
		"the power state was read":              invalid(refusal),
		"the power state was set": func(b *broken, f *conductor.Fake) {
			invalid(refusal)(b, f)
			b.read = func(ctx context.Context, n *conductor.Node) (states.Power, error) {
				if n.DriverInfo["B1"] != "a" {
					return states.NoPower, refusal
				}
				return f.PowerState(ctx, n)
			}
		},
		"the boot device was set": invalidManagement(func(*conductor.Node) error { return nil }),
		"a boot device changes the record": invalidManagement(func(n *conductor.Node) error {
			n.DriverInternalInfo = nil
			return refusal
		}),
		"a boot device sent 1 requests": func(b *broken, f *conductor.Fake) {
			invalidManagement(func(n *conductor.Node) error {
				_, _ = f.PowerState(context.Background(), n)
				return refusal
			})(b, f)
		},
		"it panicked: no B1": func(b *broken, f *conductor.Fake) {
			b.validate = func(n *conductor.Node) map[string]error {
				if n.DriverInfo["B1"] == nil {
					panic("no B1")
				}
				return f.Validate(n)
			}
		},
		"has no function":              steps(func(s *conductor.Step) { s.Run = nil }),
		"has no name of its own":       steps(func(s *conductor.Step) { s.Step = "" }),
		"that the description lacks":   steps(func(s *conductor.Step) { s.Interface = "other" }),
		"has the priority -1":          steps(func(s *conductor.Step) { s.Priority = -1 }),
		"has no step with a priority":  steps(func(s *conductor.Step) { s.Priority = 0 }),
		`the argument "a" of the step`: steps(func(s *conductor.Step) { s.ArgsInfo = map[string]conductor.StepArgument{"a": {}} }),
		"runs automatically, and needs": steps(func(s *conductor.Step) {
			s.Priority, s.ArgsInfo = 1, map[string]conductor.StepArgument{"a": {Description: "b", Required: true}}
		}),
		"work rescue has no step with a priority above 0": func(b *broken, f *conductor.Fake) {
			b.steps = func(n *conductor.Node, work states.Work) []conductor.Step {
				if work == states.WorkRescue {
					return nil
				}
				return f.Steps(n, work)
			}
		},
		"deleted ends in error, want available: the hardware type could not be asked for its steps: panic with a value of type string": func(
			b *broken, f *conductor.Fake,
		) {
			b.steps = func(n *conductor.Node, work states.Work) []conductor.Step {
				if n.ProvisionState == states.Deleting && n.Conductor != "" { // the node is a conductor's
					panic("no steps")
				}
				return f.Steps(n, work)
			}
		},
		"a list of steps sent": func(b *broken, f *conductor.Fake) {
			b.steps = func(n *conductor.Node, work states.Work) []conductor.Step {
				_, _ = f.PowerState(context.Background(), n)
				return f.Steps(n, work)
			}
		},
		"a verification finds a power state: the power state is error": func(b *broken, _ *conductor.Fake) {
			b.verify = func(context.Context, *conductor.Node) (states.Power, error) { return states.PowerError, nil }
		},
		"a power state that is set is reached: power on: the power state is error": func(b *broken, f *conductor.Fake) {
			b.read = func(ctx context.Context, n *conductor.Node) (states.Power, error) {
				power, err := f.PowerState(ctx, n)
				if power == states.PowerOn && n.ProvisionState == states.NoState { // no conductor waits for it
					power = states.PowerError
				}
				return power, err
			}
		},
		"is neither done nor matches errors.ErrUnsupported": func(b *broken, f *conductor.Fake) {
			b.set = func(ctx context.Context, n *conductor.Node, power states.Power) error {
				if power == states.PowerSoftRebooting {
					return errors.New("no such request")
				}
				return f.SetPower(ctx, n, power)
			}
		},
		"rebooting succeeds and sends nothing": func(b *broken, f *conductor.Fake) {
			b.set = func(ctx context.Context, n *conductor.Node, power states.Power) error {
				if power == states.PowerRebooting {
					return nil
				}
				return f.SetPower(ctx, n, power)
			}
		},
		"rebooting: the machine was on and has not started again within 1m0s": func(b *broken, f *conductor.Fake) {
			b.set = func(ctx context.Context, n *conductor.Node, power states.Power) error {
				return f.SetPower(ctx, n, power.Target())
			}
		},
		"persistent false after it was set with true": func(b *broken, f *conductor.Fake) {
			b.bootFrom(f, func(bool) (bool, error) { return false, nil })
		},
		"persistent true after it was set with false": func(b *broken, f *conductor.Fake) {
			b.bootFrom(f, func(bool) (bool, error) { return true, nil })
		},
		"pxe, persistent true: no": func(b *broken, f *conductor.Fake) { // neither of the two is possible
			b.bootFrom(f, func(bool) (bool, error) { return false, refusal })
		},
		"pxe, persistent true: not now": func(b *broken, f *conductor.Fake) {
			b.bootFrom(f, func(persistent bool) (bool, error) {
				if persistent {
					return false, errors.New("not now")
				}
				return false, nil
			})
		},
		"want an error that matches conductor.Invalid": func(b *broken, _ *conductor.Fake) {
			b.boot = func(context.Context, *conductor.Node, string, bool) error { return nil }
		},
		"SetPower power off sent 1 requests": func(b *broken, f *conductor.Fake) {
			b.set = func(ctx context.Context, n *conductor.Node, power states.Power) error {
				return f.SetPower(context.WithoutCancel(unfenced{ctx}), n, power)
			}
		},
		"SetPower power off sent 2 requests with 1 permissions": func(b *broken, f *conductor.Fake) {
			b.set = func(ctx context.Context, n *conductor.Node, power states.Power) error {
				if err := f.SetPower(ctx, n, power); err != nil {
					return err
				}
				return f.SetPower(unfenced{ctx}, n, power)
			}
		},
		"succeeds without the permission for which it asked": func(b *broken, f *conductor.Fake) {
			b.read = func(ctx context.Context, n *conductor.Node) (states.Power, error) {
				power, err := f.PowerState(ctx, n)
				if err != nil && conductor.Permit(ctx) != nil {
					return states.PowerOn, nil
				}
				return power, err
			}
		},
		"PowerState asks for more than 100 permissions": func(b *broken, f *conductor.Fake) {
			b.read = func(ctx context.Context, n *conductor.Node) (states.Power, error) {
				for range 1000 {
					if err := conductor.Permit(ctx); err != nil {
						return states.NoPower, err
					}
				}
				return f.PowerState(ctx, n)
			}
		},
		"sent 1 requests after its context had ended": func(b *broken, f *conductor.Fake) {
			b.set = func(ctx context.Context, n *conductor.Node, power states.Power) error {
				return f.SetPower(context.WithoutCancel(ctx), n, power)
			}
		},
		"the work of a conductor ends: manage ends in enroll": func(b *broken, f *conductor.Fake) {
			b.verify = func(ctx context.Context, n *conductor.Node) (states.Power, error) {
				if n.ProvisionState == states.Verifying {
					return states.NoPower, errors.New("not now")
				}
				return f.Verify(ctx, n)
			}
		},
		"a machine that cannot be reached is an error: PowerState succeeds": func(b *broken, f *conductor.Fake) {
			b.read = func(ctx context.Context, n *conductor.Node) (states.Power, error) {
				power, err := f.PowerState(ctx, n)
				if err != nil && strings.Contains(err.Error(), "no route") {
					return states.PowerOff, nil
				}
				return power, err
			}
		},
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			c, f := newFake()
			b := newBroken(f)
			set(b, f)
			c.Hardware = b
			synctest.Test(t, func(t *testing.T) {
				require.ErrorContains(t, hardwaretest.Check(c), text)
			})
		})
	}
}
