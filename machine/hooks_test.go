// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package machine_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

func TestHooksAreCalledInTheDocumentedOrder(t *testing.T) {
	var calls []string
	noted := func(name string) machine.Hook {
		return func(_ context.Context, tr machine.Transition) error {
			calls = append(calls, name)
			require.Equal(t, "node-1", tr.Node)
			require.Equal(t, states.EventManage, tr.Event)
			require.Equal(t, states.Enroll, tr.From.State)
			require.Equal(t, machine.Node{State: states.Verifying, Target: states.Manageable}, tr.To)
			require.Equal(t, time.Unix(7, 0), tr.Time)
			require.Equal(t, "start", tr.Status)
			return nil
		}
	}
	m := newMachine(t, states.Enroll, func(c *machine.Config) {
		c.Guard = []machine.Hook{noted("guard 1"), noted("guard 2")}
		c.Save = []machine.Hook{noted("save 1"), noted("save 2")}
		c.Exit = []machine.Hook{noted("exit 1"), noted("exit 2")}
		c.Enter = []machine.Hook{noted("enter 1"), noted("enter 2")}
		c.Now = func() time.Time { return time.Unix(7, 0) }
	})
	require.NoError(t, m.Fire(t.Context(), states.EventManage))
	require.Equal(t, []string{"guard 1", "guard 2", "save 1", "save 2", "exit 1", "exit 2", "enter 1", "enter 2"}, calls)
}

func TestEveryHookIsCalledWhicheverThereAre(t *testing.T) {
	const kinds = 4
	for some := range 1 << kinds {
		called := 0
		m := newMachine(t, states.Enroll, func(c *machine.Config) {
			for i, hooks := range [kinds]*[]machine.Hook{&c.Guard, &c.Save, &c.Exit, &c.Enter} {
				if some>>i&1 == 1 {
					*hooks = []machine.Hook{func(context.Context, machine.Transition) error { called |= 1 << i; return nil }}
				}
			}
		})
		require.NoError(t, m.Fire(t.Context(), states.EventManage))
		require.Equal(t, some, called)
	}
}

func hook(f func(context.Context) error) machine.Hook {
	return func(ctx context.Context, _ machine.Transition) error { return f(ctx) }
}

func TestAFailedHookLeavesNoPartialTransition(t *testing.T) {
	broken := errors.New("broken")
	fail := map[string]func(context.Context) error{
		"error":      func(context.Context) error { return broken },
		"panic":      func(context.Context) error { panic(broken) },
		"text panic": func(context.Context) error { panic("text") },
	}
	for where, put := range setHook {
		for how, f := range fail {
			t.Run(where+" "+how, func(t *testing.T) {
				fails, rest := true, 0
				m := newMachine(t, states.Enroll, func(c *machine.Config) {
					put(c, func(ctx context.Context) error {
						if fails {
							return f(ctx)
						}
						return nil
					})
					put(c, func(context.Context) error { rest++; return nil })
				})

				err := m.Fire(t.Context(), states.EventManage)
				var failed *machine.HookError
				require.ErrorAs(t, err, &failed)
				require.Equal(t, where, failed.Hook.String())
				require.Equal(t, "node-1", failed.Node)
				require.Equal(t, !beforeTheMove[where], failed.Moved)
				require.Equal(t, failed.Moved, machine.Moved(fmt.Errorf("wrapped: %w", err)))
				if how != "text panic" {
					require.ErrorIs(t, err, broken)
				}
				if how != "error" {
					var panicked *machine.PanicError
					require.ErrorAs(t, err, &panicked)
					require.Contains(t, string(panicked.Stack), "machine_test")
				}

				fails = false
				if beforeTheMove[where] {
					require.Equal(t, node(states.Enroll), m.Node())
					require.Zero(t, rest, "the first refusal is the last word")
					require.NoError(t, m.Fire(t.Context(), states.EventManage))
				} else {
					require.Equal(t, 1, rest, "the other hooks are still called")
				}
				require.Equal(t, machine.Node{State: states.Verifying, Target: states.Manageable}, m.Node())
				require.NoError(t, m.Fire(t.Context(), states.EventDone), "the machine takes the next event")
			})
		}
	}
}

func TestAHookThatEndsItsGoroutineHoldsNoLock(t *testing.T) {
	for where, put := range setHook {
		t.Run(where, func(t *testing.T) {
			fails := true
			m := newMachine(t, states.Enroll, func(c *machine.Config) {
				put(c, func(context.Context) error {
					if fails {
						fails = false
						runtime.Goexit()
					}
					return nil
				})
			})
			var wg sync.WaitGroup
			wg.Go(func() { _ = m.Fire(t.Context(), states.EventManage) })
			wg.Wait()

			if beforeTheMove[where] {
				require.NoError(t, m.Fire(t.Context(), states.EventManage))
			}
			require.NoError(t, m.Fire(t.Context(), states.EventDone))
		})
	}
}

func TestAnExitOrEnterHookMayFireTheNextEvent(t *testing.T) {
	for _, where := range []string{"exit", "enter"} {
		t.Run(where, func(t *testing.T) {
			var m *machine.Machine
			m = newMachine(t, states.Enroll, func(c *machine.Config) {
				c.Save = []machine.Hook{func(context.Context, machine.Transition) error { return nil }}
				c.History = 5
				setHook[where](c, func(ctx context.Context) error {
					if m.Node().State != states.Verifying {
						return nil
					}
					return m.Fire(context.WithoutCancel(ctx), states.EventDone)
				})
			})
			require.NoError(t, m.Fire(t.Context(), states.EventManage))
			require.Equal(t, states.Manageable, m.Node().State)
			require.Len(t, m.History(), 2)
		})
	}
}

func TestAGuardOrSaveHookCannotFire(t *testing.T) {
	for where := range beforeTheMove {
		t.Run(where, func(t *testing.T) {
			var (
				m    *machine.Machine
				kept context.Context
			)
			other := newMachine(t, states.Enroll)
			m = newMachine(t, states.Enroll, func(c *machine.Config) {
				setHook[where](c, func(ctx context.Context) error {
					if kept != nil {
						return nil
					}
					kept = ctx
					require.NoError(t, other.Fire(ctx, states.EventManage), "another machine is free")
					return m.Fire(ctx, states.EventManage)
				})
			})
			err := m.Fire(t.Context(), states.EventManage)
			require.ErrorContains(t, err, "a guard or save hook cannot move its own machine")
			require.Equal(t, node(states.Enroll), m.Node())
			require.NoError(t, m.Fire(kept, states.EventManage), "a context that outlives its hook is as good as any")
		})
	}
}

func TestTheTokenReachesEveryHookUntilSetNodeReplacesIt(t *testing.T) {
	var got []any
	note := []machine.Hook{func(_ context.Context, tr machine.Transition) error {
		got = append(got, tr.Token)
		return nil
	}}
	m := newMachine(t, states.Enroll, func(c *machine.Config) {
		c.Token = 7
		c.Guard, c.Save, c.Exit, c.Enter = note, note, note, note
	})
	require.NoError(t, m.Request(t.Context(), "manage", 115))
	require.NoError(t, m.SetNode(t.Context(), node(states.Verifying), 8))
	require.NoError(t, m.Report(t.Context(), states.EventDone, ""))
	require.Equal(t, []any{7, 7, 7, 7, 8, 8, 8, 8}, got)
}
