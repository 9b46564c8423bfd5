// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/promises"
	"github.com/ironstate/ironstate/internal/bubble"
	"github.com/ironstate/ironstate/states"
)

// answering is a store that answers the write of a node after answer has returned, with its error.
type answering struct {
	conductor.Memory
	answer func(written *promises.Version) error // may be nil
}

func (s *answering) Update(ctx context.Context, r conductor.Record) (int64, error) {
	revision, err := s.Memory.Update(ctx, r)
	if err != nil || r.Kind != conductor.KindNode || s.answer == nil {
		return revision, err
	}
	written, err := promises.Decode(r.Value)
	if err != nil {
		return 0, err
	}
	return revision, s.answer(written)
}

// reports are the calls of OnTransition.
type reports struct {
	t *testing.T

	mu      sync.Mutex
	running map[string]bool // by the node's UUID
	ended   []string        // the transitions of the calls that have returned
}

// during returns an OnTransition that records its calls and runs do in them.
func (r *reports) during(do func(conductor.Transition)) func(conductor.Transition) {
	r.running = map[string]bool{}
	return func(move conductor.Transition) {
		r.mu.Lock()
		assert.False(r.t, r.running[move.Node.UUID], "%v overlaps another call for its node", move)
		r.running[move.Node.UUID] = true
		r.mu.Unlock()
		do(move)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.running[move.Node.UUID] = false
		r.ended = append(r.ended, move.String())
	}
}

func (r *reports) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ended
}

func TestTheTransitionsOfANodeAreReportedInTheirOrderWhicheverRequestIsFirst(t *testing.T) {
	for name, test := range map[string]struct {
		callback, response time.Duration // in which the hold is reported, and its write is answered
		lost               error
	}{
		"the callback is slow":       {callback: time.Minute},
		"the response comes late":    {response: 5 * time.Second},
		"the response is lost":       {lost: errNoResponse},
		"the response is lost later": {response: 5 * time.Second, lost: errNoResponse},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &reports{t: t}
				f := start(t, func(c *conductor.Config) {
					c.Store = &answering{answer: func(written *promises.Version) error {
						if written.State != states.CleanHold {
							return nil
						}
						time.Sleep(test.response)
						return test.lost
					}}
					c.OnTransition = r.during(func(move conductor.Transition) {
						if move.To == states.CleanHold {
							time.Sleep(test.callback)
						}
					})
				})
				n := f.node(states.Manageable)
				request := f.provision("clean")
				request.CleanSteps = []conductor.StepRequest{{Interface: "deploy", Step: "hold"}}
				require.NoError(t, f.Provision(f.ctx, n.UUID, request))
				require.Equal(t, states.CleanHold, f.settle(n).ProvisionState)
				f.request(n, "abort")
				bubble.Sleep(2 * time.Minute)
				require.Equal(t, states.CleanFail, f.settle(n).ProvisionState)
				require.Equal(t, []string{
					"manageable --clean--> cleaning", "cleaning --hold--> clean hold", "clean hold --abort--> clean failed",
				}, r.all())
				require.Zero(t, f.Queues(), "nothing is left of them")
			})
		})
	}
}

func TestACallbackDelaysNeitherTheWorkOfItsNodeNorOtherNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &reports{t: t}
		f := start(t, func(c *conductor.Config) {
			c.OnTransition = r.during(func(move conductor.Transition) {
				if move.Node.Name == "slow" {
					time.Sleep(time.Minute)
				}
			})
		})
		n := f.create(conductor.Node{Name: "slow", ProvisionState: states.Enroll})
		f.request(n, "manage")
		require.Equal(t, states.Manageable, f.settle(n).ProvisionState)
		other := f.node(states.Available)
		f.request(other, "manage")
		synctest.Wait()
		require.Equal(t, []string{"available --manage--> manageable"}, r.all())
		bubble.Sleep(3 * time.Minute)
		require.Len(t, r.all(), 3)
	})
}

func TestACallbackMayRequestAnythingOfItsNode(t *testing.T) {
	type call func(f *fleet, n *conductor.Node) error
	for name, do := range map[string]call{
		"its next state": func(f *fleet, n *conductor.Node) error {
			return f.Provision(context.Background(), n.UUID, f.provision("provide"))
		},
		"a power state": func(f *fleet, n *conductor.Node) error {
			return f.SetPower(context.Background(), n.UUID, states.PowerOn, 0)
		},
		"a change of its record": func(f *fleet, n *conductor.Node) error {
			_, err := f.UpdateNode(context.Background(), n.UUID, func(n *conductor.Node) error { n.Description = "checked"; return nil })
			return err
		},
		"its deletion": func(f *fleet, n *conductor.Node) error { return f.DeleteNode(context.Background(), n.UUID) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var f *fleet
				results := make(chan error, 1)
				f = start(t, func(c *conductor.Config) {
					c.SkipAutomatedClean = true
					c.OnTransition = func(move conductor.Transition) {
						if move.To == states.Manageable {
							results <- do(f, move.Node)
						}
					}
				})
				n := f.node(states.Enroll)
				f.request(n, "manage")
				synctest.Wait()
				require.NoError(t, <-results)
				synctest.Wait()
				switch n, err := f.Node(f.ctx, n.UUID); name {
				case "its next state":
					require.Equal(t, states.Available, n.ProvisionState)
				case "a power state":
					require.Equal(t, states.PowerOn, n.Power)
				case "a change of its record":
					require.Equal(t, "checked", n.Description)
				default:
					require.ErrorIs(t, err, conductor.NotFound)
				}
			})
		})
	}
}

func TestRunReturnsAfterTheTransitionsOfItsWorkWereReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &reports{t: t}
		t.Cleanup(func() { // after the clean-up of start, which waits for Run
			require.Equal(t, []string{"enroll --manage--> verifying", "verifying --done--> manageable"}, r.all())
		})
		f := start(t, func(c *conductor.Config) {
			c.ShutdownTimeout = time.Second
			c.OnTransition = r.during(func(conductor.Transition) { time.Sleep(time.Minute) })
		})
		f.request(f.node(states.Enroll), "manage")
	})
}

// A callback that still requests work when the conductor stops does not hold it up.
func TestRunEndsWhileACallbackRequestsTheNextState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f *fleet
		var refused error
		t.Cleanup(func() { require.ErrorIs(t, refused, conductor.NoWorker) })
		f = start(t, func(c *conductor.Config) {
			c.ShutdownTimeout = time.Second
			c.OnTransition = func(move conductor.Transition) {
				if move.To == states.Manageable {
					time.Sleep(time.Minute) // meanwhile Run's context ends
					refused = f.Provision(context.Background(), move.Node.UUID, f.provision("provide"))
				}
			}
		})
		f.request(f.node(states.Enroll), "manage")
		synctest.Wait()
	})
}

func TestARequestThatOutlivesRunReportsItsTransitionsItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, answered := &reports{t: t}, make(chan error, 1)
		t.Cleanup(func() { // after Run
			require.Empty(t, r.all())
			require.NoError(t, <-answered)
			require.Equal(t, []string{"available --manage--> manageable"}, r.all())
		})
		f := start(t, func(c *conductor.Config) {
			c.Store = &answering{answer: func(*promises.Version) error { time.Sleep(time.Hour); return nil }}
			c.SkipPowerSync, c.ShutdownTimeout = true, time.Second
			c.OnTransition = r.during(func(conductor.Transition) {})
		})
		n := f.node(states.Available)
		request := f.provision("manage")
		go func() { answered <- f.Provision(context.Background(), n.UUID, request) }()
		synctest.Wait()
	})
}

func TestACallbackThatHangsLosesTheOldestTransitions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log lockedBuffer
		r, goOn := &reports{t: t}, make(chan struct{})
		f := start(t, func(c *conductor.Config) {
			c.SkipAutomatedClean, c.Log = true, slog.New(slog.NewTextHandler(&log, nil))
			c.OnTransition = r.during(func(conductor.Transition) { <-goOn })
		})
		n := f.node(states.Available)
		for range 40 {
			f.request(n, "manage")
			f.request(n, "provide")
			f.settle(n)
		}
		close(goOn)
		synctest.Wait()
		got := r.all()
		require.Len(t, got, 101, "the one that hangs, and the newest 100")
		require.Equal(t, "available --manage--> manageable", got[0])
		require.Equal(t, "cleaning --done--> available", got[100])
		for i := 2; i < len(got); i++ {
			from, _, _ := strings.Cut(got[i], " ")
			require.True(t, strings.HasSuffix(got[i-1], "> "+from), "%s follows %s", got[i], got[i-1])
		}
		require.Equal(t, 40*3-101, strings.Count(log.String(), `level=ERROR msg="a transition was not reported`), log.String())
	})
}
