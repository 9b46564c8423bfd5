// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/bubble"
	"github.com/ironstate/ironstate/states"
)

// shared is a store in which another process changes a node after one write of the conductor under test.
type shared struct {
	conductor.Memory
	t         *testing.T
	intrusion atomic.Pointer[intrusion]
}

// intrusion is a change of a record after a write of it, and the error that the conductor receives for its own write.
type intrusion struct {
	change map[string]any
	err    error
}

func (s *shared) Update(ctx context.Context, r conductor.Record) (int64, error) {
	revision, err := s.Memory.Update(ctx, r)
	i := s.intrusion.Swap(nil)
	if err != nil || i == nil {
		return revision, err
	}
	s.change(r.ID, i.change)
	return revision, i.err
}

// change changes a node's record as another process would.
func (s *shared) change(id string, change map[string]any) {
	r, err := s.Get(context.Background(), conductor.KindNode, id)
	require.NoError(s.t, err)
	var record map[string]any
	require.NoError(s.t, json.Unmarshal(r.Value, &record))
	for key, value := range change {
		record[key] = value
	}
	r.Value, err = json.Marshal(record)
	require.NoError(s.t, err)
	_, err = s.Memory.Update(context.Background(), r)
	require.NoError(s.t, err)
}

func TestANodeThatAnotherConductorReservesIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &shared{t: t}
		m := startMachine(t, states.Manageable, func(c *conductor.Config) { c.Store = store })
		m.clean("deploy.erase_devices")
		m.boot()
		m.heard()
		asked := 0
		m.set(func(a *agentProgram) { a.before = func() { asked++ } })
		store.intrusion.Store(&intrusion{change: map[string]any{"reservation": "beta", "claim": otherMember}})
		n := m.beat()
		require.Equal(t, "beta", n.Reservation)
		require.Zero(t, asked)
		m.requireState(m.beat(), states.CleanWait, "")
		require.Zero(t, asked)
		store.change(n.UUID, map[string]any{"reservation": "", "claim": ""})
		m.requireState(m.end("SUCCEEDED", ""), states.Manageable, "")
	})
}

func TestTheHardwareTypeIsAskedOnceForAHeartbeatWhetherItUsesTheAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hardware := &defective{}
		m := startMachine(t, states.Manageable, func(c *conductor.Config) {
			hardware.Fake = c.Hardware["fake-hardware"].(*conductor.Fake)
			c.Hardware = map[string]conductor.Hardware{"fake-hardware": hardware}
		})
		m.clean("deploy.erase_devices")
		m.boot()
		asked, heard := atomic.Int32{}, 0
		hardware.breaks("UsesAgent", func() { asked.Add(1) })
		m.set(func(a *agentProgram) { a.before = func() { heard++ } })
		m.requireState(m.beat(), states.CleanWait, "")
		require.Positive(t, heard)
		require.EqualValues(t, 1, asked.Load())
	})
}

func TestAHeartbeatOfAReservedNodeContinuesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &shared{t: t}
		f := start(t, func(c *conductor.Config) { c.Store = store })
		n := f.waitsInDeployment()
		store.change(n.UUID, map[string]any{"reservation": "beta", "claim": otherMember})
		synctest.Wait()
		begun := time.Now()
		token := beats(f, n)
		require.Zero(t, time.Since(begun), "neither it nor the lookup waits for the reservation to end")
		got := f.settle(n)
		require.Equal(t, states.DeployWait, got.ProvisionState)
		require.Equal(t, token, got.Agent.Token)
		require.Equal(t, "https://10.0.0.7:9999", got.Agent.URL, "the agent is known to the work that follows")
	})
}

func TestTheAnswerOfAnAgentIsStoredInTheRecordAsItIs(t *testing.T) {
	for name, test := range map[string]struct {
		intrusion intrusion
		while     map[string]any // is changed while the agent is asked
		state     states.State
		heard     []string
	}{
		"although the answer of the store was lost, and a client has changed the record meanwhile": {
			intrusion{map[string]any{"updated_at": "2026-11-23T17:00:00+00:00"}, errDisk},
			nil, states.CleanWait, []string{"execute_clean_step erase_devices"},
		},
		"unless somebody has changed the state by hand": {intrusion{}, map[string]any{"provision_state": "active"}, states.Active, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &shared{t: t}
				m := startMachine(t, states.Manageable, func(c *conductor.Config) { c.Store = store })
				m.clean("deploy.erase_devices_metadata", "deploy.erase_devices")
				m.boot()
				m.heard()
				m.set(func(a *agentProgram) {
					a.before = func() {
						a.before = nil
						if test.while != nil {
							store.change(m.n.UUID, test.while)
						} else {
							store.intrusion.Store(&test.intrusion)
						}
					}
				})
				m.end("SUCCEEDED", "")
				bubble.Sleep(2 * time.Minute) // until the write has been repeated, and a check has dropped the reservation that is left
				n := m.settle(m.n)
				require.Equal(t, test.state, n.ProvisionState, n.LastError)
				require.Equal(t, test.heard, m.heard())
				require.Empty(t, n.Reservation)
			})
		})
	}
}

func TestTheAnswerOfAnAgentWhoseNodeWasDeletedIsLogged(t *testing.T) {
	for _, deleted := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var log lockedBuffer
			store := &shared{t: t}
			m := startMachine(t, states.Manageable, func(c *conductor.Config) { c.Store, c.Log = store, slog.New(slog.NewTextHandler(&log, nil)) })
			m.clean("deploy.erase_devices")
			m.boot()
			m.set(func(a *agentProgram) {
				a.before = func() {
					r, err := store.Get(m.ctx, conductor.KindNode, m.n.UUID)
					require.NoError(t, err)
					if deleted {
						_, err = store.Delete(m.ctx, conductor.KindNode, r.ID, r.Revision)
						require.NoError(t, err)
					}
				}
			})
			require.NoError(t, m.Heartbeat(m.ctx, m.n.UUID, conductor.Heartbeat{
				From:         agentAt,
				CallbackURL:  "http://10.0.0.7:9999",
				AgentVersion: "9.4.3",
				AgentToken:   m.token,
			}))
			synctest.Wait()
			const text = `level=WARN msg="the answer of an agent could not be stored" node=`
			require.Equal(t, deleted, strings.Contains(log.String(), text+m.n.UUID), log.String())
		})
	}
}

func TestAnAnswerThatChangesNothingEndsTheReservation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := startMachine(t, states.Manageable, func(c *conductor.Config) { c.Store = &deaf{} })
		m.clean("deploy.erase_devices")
		m.boot()
		n := m.beat()
		m.requireState(n, states.CleanWait, "")
		require.Empty(t, n.Reservation, "no watch reports it, and the next check is in a minute")
	})
}

// peers is a membership with two members that have the hardware type.
type peers struct{ withBeta }

func (peers) Join(ctx context.Context, self conductor.Member) iter.Seq2[[]conductor.Member, error] {
	return func(yield func([]conductor.Member, error) bool) {
		if yield([]conductor.Member{self, {ID: otherMember, Hostname: "beta", Drivers: self.Drivers}}, nil) {
			<-ctx.Done()
		}
	}
}

func TestTheWorkOfANodeIsLeftToItsOwnerAfterItsAgentWasAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := startMachine(t, states.Manageable, func(c *conductor.Config) { c.Membership = peers{} })
		for owned := range map[string]bool{"alpha": true, "beta": true} {
			for {
				n := m.create(conductor.Node{
					ProvisionState: states.CleanWait, TargetProvisionState: states.Available, Interfaces: map[string]string{"deploy": "direct"},
					Agent: conductor.AgentInfo{Token: "T"},
				})
				if owner, ok := m.Owner(n); !ok || owner.Hostname != owned {
					continue
				}
				m.agent.reset("T")
				m.n, m.token = n, "T"
				n = m.beat()
				require.Empty(t, n.Reservation)
				want := map[string]states.State{"alpha": states.CleanWait, "beta": states.Cleaning}[owned] // alpha boots the agent and waits
				m.requireState(n, want, "")
				break
			}
		}
	})
}

func TestAnAgentThatIsAskedWhenTheConductorStopsFailsNoWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &shared{t: t}
		config := conductor.Config{Store: store, SkipPowerSync: true, Hardware: map[string]conductor.Hardware{"fake-hardware": &conductor.Fake{}}}
		stopped := make(chan struct{})
		defer close(stopped)
		config.Agent.Dial = func(context.Context, string, string) (net.Conn, error) { <-stopped; return nil, errDisk }
		c, stop := started(config)
		n, err := c.CreateNode(t.Context(), &conductor.Node{
			Driver:               "fake-hardware",
			ProvisionState:       states.CleanWait,
			TargetProvisionState: states.Available,
			Interfaces:           map[string]string{"deploy": "direct"},
			Agent:                conductor.AgentInfo{Token: "T"},
			CleanSteps:           &conductor.Steps{Current: &conductor.Step{Interface: "deploy", Step: "erase_devices", InBand: true}, Sent: true},
		})
		require.NoError(t, err)
		require.NoError(t, c.Heartbeat(t.Context(), n.UUID, conductor.Heartbeat{
			From:         agentAt,
			CallbackURL:  "https://10.0.0.7:9999",
			AgentVersion: "9",
			AgentToken:   "T",
		}))
		synctest.Wait()
		stop()
		r, err := store.Get(t.Context(), conductor.KindNode, n.UUID)
		require.NoError(t, err)
		require.Contains(t, string(r.Value), `"provision_state":"clean wait"`)
	})
}

func TestAStepThatABusyAgentDidNotTakeIsSentAfterItsRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := startMachine(t, states.Manageable, nil)
		m.set(func(a *agentProgram) { a.accepted = func(*http.Request, string, map[string]any) { a.busy = true } })
		m.clean("deploy.erase_devices")
		m.requireState(m.boot(), states.CleanWait, "")
		require.Equal(t, []string{"get_clean_steps"}, m.heard())
		m.set(func(a *agentProgram) { a.accepted, a.busy, a.commands = nil, false, nil })
		m.requireState(m.beat(), states.CleanWait, "")
		require.Contains(t, m.heard(), "execute_clean_step erase_devices")
		m.requireState(m.end("SUCCEEDED", ""), states.Manageable, "")
	})
}

// TestAHeartbeatContinuesNoOtherStepThatWaits lets a step wait that only has the name of the built-in one, and one that
// the hardware type no longer has.
func TestAHeartbeatContinuesNoOtherStepThatWaits(t *testing.T) {
	waits := conductor.Step{
		Interface: "deploy",
		Step:      "wait",
		Priority:  10,
		Run:       func(context.Context, *conductor.Task) error { return conductor.ErrWait },
	}
	for _, current := range []string{"wait", "gone"} {
		synctest.Test(t, func(t *testing.T) {
			f := start(t, withReal(map[states.Work][]conductor.Step{states.WorkClean: {waits}}))
			n := f.create(conductor.Node{
				ProvisionState: states.CleanWait, TargetProvisionState: states.Available,
				CleanSteps: &conductor.Steps{Current: &conductor.Step{Interface: "deploy", Step: current}, Begun: 1},
			})
			beats(f, n)
			require.Equal(t, states.CleanWait, f.settle(n).ProvisionState, current)
		})
	}
}

// TestTheEndOfAnInspectionThatWaitsSeries has a series in which no inspection continues, see
// ironic/common/states.py.
func TestTheEndOfAnInspectionThatWaitsBySeries(t *testing.T) {
	for _, series := range []states.Series{states.Antelope, states.Latest()} {
		for _, fast := range []bool{false, true} {
			for _, failure := range []error{nil, errors.New("no disk")} {
				synctest.Test(t, func(t *testing.T) {
					f := start(t, func(c *conductor.Config) { c.Table, c.FastTrack = series.Table(), fast })
					f.before(waiting("inspect.inspect_hardware"))
					n := f.node(states.Manageable)
					f.request(n, "inspect")
					require.Equal(t, states.InspectWait, f.settle(n).ProvisionState)
					_, token, err := f.Lookup(f.ctx, agentAt, nil, n.UUID)
					require.NoError(t, err)
					if fast {
						require.NoError(t, f.Heartbeat(f.ctx, n.UUID, conductor.Heartbeat{
							From:         agentAt,
							CallbackURL:  "https://10.0.0.7:9999",
							AgentVersion: "9.1",
							AgentToken:   token,
						}))
					}
					require.NoError(t, f.Resume(f.ctx, n.UUID, failure))
					got := f.settle(n)
					require.Empty(t, got.OtherSteps, "the next inspection begins with its first step")
					require.Empty(t, f.entries(n), "Ironic has no entry for an inspection that an inspector ends")
					if failure != nil {
						require.Equal(t, states.InspectFail, got.ProvisionState)
						return
					}
					require.Equal(t, states.Manageable, got.ProvisionState, got.LastError)
					require.Equal(t, fast, got.Agent.Token != "")
				})
			}
		}
	}
}

func TestACallBackThatReportsAFailureIsInTheHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, nil)
		n := f.waitsInDeployment()
		require.ErrorIs(t, f.Resume(f.ctx, f.node(states.Active).UUID, errors.New("no disk")), conductor.NotAllowed)
		require.NoError(t, f.Resume(f.ctx, n.UUID, errors.New("no disk")))
		require.Equal(t, states.DeployFail, f.settle(n).ProvisionState)
		require.Equal(t, []string{"ERROR deploying"}, f.entries(n))

		n = f.waitsInDeployment()
		require.NoError(t, f.Resume(f.ctx, n.UUID, nil))
		require.Equal(t, states.Active, f.settle(n).ProvisionState)
		require.Empty(t, f.entries(n))
	})
}
