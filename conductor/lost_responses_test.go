// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"errors"
	"net/netip"
	"regexp"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/bubble"
	"github.com/ironstate/ironstate/states"
)

var errNoResponse = errors.New("the response was lost")

// undeleting is a store that deletes no object, or no object of one kind, while the test says so.
type undeleting struct {
	conductor.Memory
	fails atomic.Bool
	only  conductor.Kind
}

func (s *undeleting) Delete(ctx context.Context, kind conductor.Kind, id string, revision int64) (int64, error) {
	if s.fails.Load() && kind != conductor.KindNode && (s.only == "" || kind == s.only) {
		return 0, errDisk
	}
	return s.Memory.Delete(ctx, kind, id, revision)
}

// orphaned returns a node without a record whose port and inventory, or one of them, the store has kept.
func orphaned(t *testing.T, only conductor.Kind) (*fleet, *undeleting, string) {
	store := &undeleting{only: only}
	f := start(t, func(c *conductor.Config) { c.Store = store })
	n := f.node(states.Available)
	_, err := f.CreateObject(f.ctx, &conductor.Port{ObjectMeta: conductor.ObjectMeta{NodeUUID: n.UUID}, Address: "52:54:00:00:00:0a"})
	require.NoError(t, err)
	_, err = f.CreateObject(f.ctx, &conductor.Inventory{ObjectMeta: conductor.ObjectMeta{UUID: n.UUID}})
	require.NoError(t, err)
	store.fails.Store(true)
	require.ErrorIs(t, f.DeleteNode(f.ctx, n.UUID), errDisk)
	_, err = f.Node(f.ctx, n.UUID)
	require.ErrorIs(t, err, conductor.NotFound)
	store.fails.Store(false)
	return f, store, n.UUID
}

func (f *fleet) requireNoObjects(node string) {
	f.t.Helper()
	for _, kind := range []conductor.Kind{conductor.KindPort, conductor.KindHistory} {
		left, err := f.ObjectsOf(f.ctx, kind, node)
		require.NoError(f.t, err)
		require.Empty(f.t, left)
	}
	_, err := f.Object(f.ctx, conductor.KindInventory, node)
	require.ErrorIs(f.t, err, conductor.NotFound)
}

func TestTheObjectsOfANodeThatDoesNotExistAreDeletedAtACheck(t *testing.T) {
	for _, undeleted := range []conductor.Kind{"", conductor.KindInventory, conductor.KindPort} {
		synctest.Test(t, func(t *testing.T) {
			f, _, node := orphaned(t, undeleted)
			bubble.Sleep(time.Hour)
			f.requireNoObjects(node)
		})
	}
}

// A new node with the UUID of a deleted one keeps its own objects, and has none of the deleted one.
func TestANewNodeWithTheUUIDOfADeletedOneHasItsOwnObjectsAlone(t *testing.T) {
	for _, undeleted := range []conductor.Kind{"", conductor.KindInventory, conductor.KindPort} {
		synctest.Test(t, func(t *testing.T) {
			f, _, node := orphaned(t, undeleted)
			_, err := f.CreateNode(f.ctx, &conductor.Node{UUID: node, Driver: "fake-hardware", ProvisionState: states.Available})
			require.NoError(t, err)
			f.requireNoObjects(node)
			port, err := f.CreateObject(f.ctx, &conductor.Port{ObjectMeta: conductor.ObjectMeta{NodeUUID: node}, Address: "52:54:00:00:00:0a"})
			require.NoError(t, err)
			bubble.Sleep(time.Hour)
			ports, err := f.ObjectsOf(f.ctx, conductor.KindPort, node)
			require.NoError(t, err)
			require.Equal(t, []conductor.Object{port}, ports)
		})
	}
}

func TestANodeIsNotCreatedWhileTheObjectsOfADeletedOneWithItsUUIDCannotBeDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, store, node := orphaned(t, "")
		store.fails.Store(true)
		_, err := f.CreateNode(f.ctx, &conductor.Node{UUID: node, Driver: "fake-hardware", ProvisionState: states.Available})
		require.ErrorIs(t, err, errDisk)
		_, err = f.Node(f.ctx, node)
		require.ErrorIs(t, err, conductor.NotFound)
	})
}

// recreating is a store in which a client creates the node again, with a port and an inventory, as soon as it is read
// as deleted.
type recreating struct {
	conductor.Memory
	recreate func()
}

func (s *recreating) Get(ctx context.Context, kind conductor.Kind, key string) (conductor.Record, error) {
	r, err := s.Memory.Get(ctx, kind, key)
	if do := s.recreate; do != nil && kind == conductor.KindNode && errors.Is(err, conductor.NotFound) {
		s.recreate = nil
		do()
	}
	return r, err
}

func TestADeletionDoesNotDeleteWhatBelongsToTheNextNodeWithTheUUID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &recreating{}
		f := start(t, func(c *conductor.Config) { c.Store = store })
		n := f.node(states.Available)
		create := func(address string) {
			_, err := f.CreateObject(f.ctx, &conductor.Port{ObjectMeta: conductor.ObjectMeta{NodeUUID: n.UUID}, Address: address})
			require.NoError(t, err)
		}
		create("52:54:00:00:00:0a")
		synctest.Wait() // the first round of the power sync has ended
		store.recreate = func() {
			_, err := f.CreateNode(f.ctx, &conductor.Node{UUID: n.UUID, Driver: "fake-hardware", ProvisionState: states.Available})
			require.NoError(t, err)
			create("52:54:00:00:00:0b")
			_, err = f.CreateObject(f.ctx, &conductor.Inventory{ObjectMeta: conductor.ObjectMeta{UUID: n.UUID}})
			require.NoError(t, err)
		}
		require.NoError(t, f.DeleteNode(f.ctx, n.UUID))
		require.Nil(t, store.recreate)
		ports, err := f.ObjectsOf(f.ctx, conductor.KindPort, n.UUID)
		require.NoError(t, err)
		require.Len(t, ports, 1)
		require.Equal(t, "52:54:00:00:00:0b", ports[0].(*conductor.Port).Address)
		_, err = f.Object(f.ctx, conductor.KindInventory, n.UUID)
		require.NoError(t, err)
	})
}

// impatient is a store whose client leaves when its node is deleted.
type impatient struct {
	conductor.Memory
	leave context.CancelFunc
}

func (s *impatient) Delete(ctx context.Context, kind conductor.Kind, id string, revision int64) (int64, error) {
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	defer s.leave()
	return s.Memory.Delete(ctx, kind, id, revision)
}

func TestTheObjectsOfANodeAreDeletedWithoutTheClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &impatient{}
		f := start(t, func(c *conductor.Config) { c.Store, c.CheckInterval = store, 24*time.Hour })
		n := f.node(states.Available)
		_, err := f.CreateObject(f.ctx, &conductor.Port{ObjectMeta: conductor.ObjectMeta{NodeUUID: n.UUID}, Address: "52:54:00:00:00:0a"})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(f.ctx)
		store.leave = cancel
		require.NoError(t, f.DeleteNode(ctx, n.UUID))
		f.requireNoObjects(n.UUID)
	})
}

func TestALookupWhoseResponseTheStoreLostGivesTheToken(t *testing.T) {
	for name, stored := range map[string]bool{"it was stored": true, "it was not": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &interrupted{}
				f := start(t, func(c *conductor.Config) { c.Store = store })
				n := f.node(states.DeployWait)
				if stored {
					store.loseUpdate(conductor.KindNode)
				} else {
					store.beforeUpdate(conductor.KindNode, func() error { return errNoResponse })
				}
				_, token, err := f.Lookup(f.ctx, agentAt, nil, n.UUID)
				if !stored {
					require.ErrorIs(t, err, errNoResponse)
					_, token, err = f.Lookup(f.ctx, agentAt, nil, n.UUID)
				}
				require.NoError(t, err)
				require.Len(t, token, 43)
				require.Equal(t, token, f.settle(n).Agent.Token)
			})
		})
	}
}

// silent makes the store answer nothing about nodes for a time.
func (s *interrupted) silent(d time.Duration) {
	begun := time.Now()
	for _, by := range []*sync.Map{&s.get, &s.update} {
		var refuse func() error
		refuse = func() error {
			if time.Since(begun) >= d {
				return nil
			}
			by.Store(conductor.KindNode, refuse)
			return errNoResponse
		}
		by.Store(conductor.KindNode, refuse)
	}
}

// A cluster of etcd that loses its leader refuses each request at once, until it has another one.
func TestALookupWhoseResponseWasLostAsksAStoreThatDoesNotAnswerAgain(t *testing.T) {
	for name, test := range map[string]struct {
		outage, took time.Duration
		given        bool
	}{
		"it answers after an election": {2500 * time.Millisecond, 3 * time.Second, true},
		"it does not answer":           {time.Hour, 10 * time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &interrupted{}
				f := start(t, func(c *conductor.Config) { c.Store, c.SkipPowerSync = store, true })
				n := f.node(states.DeployWait)
				store.updated.Store(conductor.KindNode, func() error { store.silent(test.outage); return errNoResponse })
				begun := time.Now()
				_, token, err := f.Lookup(f.ctx, agentAt, nil, n.UUID)
				require.Equal(t, test.took, time.Since(begun))
				if !test.given {
					require.ErrorIs(t, err, errNoResponse)
					return
				}
				require.NoError(t, err)
				require.Len(t, token, 43)
				require.Equal(t, token, f.settle(n).Agent.Token)
			})
		})
	}
}

func TestAnInspectionThatFailsTakesTheTokenBack(t *testing.T) {
	for name, test := range map[string]struct{ outage, took time.Duration }{
		"at once": {}, "once the store has a leader again": {2500 * time.Millisecond, 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) { testTokenTakenBack(t, test.outage, test.took) })
	}
}

// testTokenTakenBack lets an inspection fail with a store that answers nothing about nodes for a time.
func testTokenTakenBack(t *testing.T, outage, took time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		store := &interrupted{}
		f := start(t, func(c *conductor.Config) {
			withReal(map[states.Work][]conductor.Step{states.WorkInspect: {{
				Interface: "inspect", Step: "inspect_hardware", Priority: 100,
				Run: func(context.Context, *conductor.Task) error { return conductor.ErrWait },
			}}})(c)
			c.Store, c.SkipPowerSync = store, true
		})
		n := f.inspecting(nil, "52:54:00:00:00:0a")
		data := map[string]any{"inventory": map[string]any{"interfaces": []any{
			map[string]any{"name": "eth0", "mac_address": "52:54:00:00:00:0a"},
		}}}
		fails := func() error { store.silent(outage); return errNoResponse }
		store.beforeUpdate(conductor.KindPort, fails)
		store.beforeGet(conductor.KindInventory, fails)
		begun := time.Now()
		_, _, err := f.ContinueInspection(f.ctx, agentAt, data, n.UUID, true)
		require.ErrorIs(t, err, errNoResponse)
		require.Equal(t, took, time.Since(begun))
		require.Empty(t, f.settle(n).Agent.Token)
		require.Equal(t, netip.Addr{}, f.settle(n).Agent.From)
		_, token, err := f.ContinueInspection(f.ctx, agentAt, data, n.UUID, true)
		require.NoError(t, err)
		require.Len(t, token, 43)
	})
}

// usurped is managed hardware whose node another process takes over while it is operated.
type usurped struct {
	*managed
	usurp func()
}

func (u *usurped) SetBootMode(context.Context, *conductor.Node, string) error {
	u.usurp()
	return nil
}

func (u *usurped) SetBootDevice(_ context.Context, n *conductor.Node, device string, _ bool) error {
	u.usurp()
	n.DriverInternalInfo = map[string]any{"boot_device": device}
	return nil
}

// A process that has lost its node changes the record of its successor's work in no way. The successor lives: this
// process would drop the claim of a dead one.
func TestAnActionWhoseNodeAnotherProcessHasTakenOverIsNotRecorded(t *testing.T) {
	for name, do := range map[string]func(f *fleet, node string) error{
		"boot mode":   func(f *fleet, node string) error { return f.Management(node).SetBootMode(f.ctx, "uefi") },
		"boot device": func(f *fleet, node string) error { return f.SetBootDevice(f.ctx, node, "pxe", false) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &interrupted{}
				hardware := &usurped{managed: &managed{Fake: &conductor.Fake{}}}
				f := start(t, func(c *conductor.Config) { c.Store, c.Hardware["fake-hardware"] = store, hardware })
				n := f.node(states.Active)
				hardware.usurp = func() {
					r, err := store.Memory.Get(f.ctx, conductor.KindNode, n.UUID)
					require.NoError(t, err)
					r.Value = regexp.MustCompile(`"claim":"[^"]*"`).ReplaceAll(r.Value, []byte(`"claim":"`+otherMember+`"`))
					_, err = store.Memory.Update(f.ctx, r)
					require.NoError(t, err)
				}
				require.Error(t, do(f, n.UUID))
				now, err := f.Node(f.ctx, n.UUID)
				require.NoError(t, err)
				require.Equal(t, otherMember, now.Claim)
				require.Empty(t, now.BootMode)
				require.NotContains(t, now.InternalInfo(), "boot_device")
			})
		})
	}
}

func TestACallWhoseCreationHadNoResponseIsDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startCalls(t)
		c.stores["alpha"].loseCreations.Store(true)
		_, _, err := c.alpha.BootDevice(c.ctx, c.n.UUID)
		require.ErrorIs(t, err, errDisk)
		synctest.Wait()
		require.Zero(t, c.stored())
	})
}
