// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/bubble"
	"github.com/ironstate/ironstate/states"
)

// withOther is withBeta, where beta has the hardware type "other".
type withOther struct{ withBeta }

func (withOther) Join(ctx context.Context, self conductor.Member) iter.Seq2[[]conductor.Member, error] {
	return func(yield func([]conductor.Member, error) bool) {
		other := conductor.Member{
			ID:           otherMember,
			Hostname:     "beta",
			Descriptions: map[string]conductor.Description{"other": {Interfaces: map[string][]string{"deploy": {"direct"}}}},
		}
		if yield([]conductor.Member{self, other}, nil) {
			<-ctx.Done()
		}
	}
}

// family is a fleet with a parent and its children, by name.
type family struct {
	*fleet
	nodes map[string]*conductor.Node
	mu    sync.Mutex
	did   []string // each operation on the hardware but the reads of power
	fail  map[string]error
}

// startFamily runs a conductor without power sync. The nodes have the power of the hardware and in the record, a child
// the node "parent" as its parent.
func startFamily(
	t *testing.T, series states.Series, power states.Power, change func(*conductor.Config), nodes map[string]*conductor.Node,
) *family {
	f := &family{nodes: map[string]*conductor.Node{}}
	f.fleet = start(t, func(c *conductor.Config) {
		c.Table, c.SkipPowerSync, c.Membership = series.Table(), true, withOther{}
		if change != nil {
			change(c)
		}
	})
	f.before(func(_ context.Context, n *conductor.Node, operation string) error {
		f.mu.Lock()
		defer f.mu.Unlock()
		if operation != "read power" {
			f.did = append(f.did, operation+" of "+n.Name)
		}
		return f.fail[operation+" of "+n.Name]
	})
	for _, name := range append([]string{"parent"}, slices.Sorted(func(yield func(string) bool) {
		for name := range nodes {
			if name != "parent" && !yield(name) {
				return
			}
		}
	})...) {
		n := &conductor.Node{ProvisionState: states.Manageable, Power: power}
		if given := nodes[name]; given != nil {
			n = given
		}
		n.Name = name
		if n.Driver == "" {
			n.Driver = "fake-hardware"
		}
		if name != "parent" && n.ParentNode == "" {
			n.ParentNode = f.nodes["parent"].UUID
		}
		time.Sleep(time.Second) // children are in the order of their creation
		var err error
		f.nodes[name], err = f.CreateNode(f.ctx, n)
		require.NoError(t, err)
		if n.Power != states.NoPower {
			require.NoError(t, f.fake.SetPower(f.ctx, f.nodes[name], n.Power))
		}
	}
	f.forget()
	return f
}

// fails gives operations on the hardware an error, by operation and node.
func (f *family) fails(by map[string]error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fail = by
}

// forget empties the list of operations.
func (f *family) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.did = nil
}

// read returns a node of the family.
func (f *family) read(name string) *conductor.Node { return f.settle(f.nodes[name]) }

// free requires that no node is reserved by this conductor, and none has a target power state.
func (f *family) free() {
	for name := range f.nodes {
		n := f.read(name)
		require.NotEqual(f.t, "alpha", n.Reservation, name)
		require.Equal(f.t, states.NoPower, n.TargetPower, name)
	}
}

func child(power states.Power) *conductor.Node {
	return &conductor.Node{ProvisionState: states.Manageable, Power: power}
}

func TestAParentThatGoesOffTakesItsChildren(t *testing.T) {
	for _, test := range []struct {
		series states.Series
		target states.Power
		did    []string
	}{
		{states.Hibiscus, states.PowerOff, []string{"power off of a", "power off of failed", "power off of parent"}},
		{states.Epoxy, states.PowerOff, []string{"power off of a", "power off of failed", "power off of parent"}},
		{states.Dalmatian, states.PowerOff, []string{"power off of parent"}},
		{states.Hibiscus, states.PowerSoftOff, []string{"soft power off of parent"}},
		{states.Hibiscus, states.PowerRebooting, []string{"rebooting of parent"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			own, a, failed := child(states.PowerOn), child(states.PowerOn), child(states.PowerOn)
			own.DriverInfo = map[string]any{"has_dedicated_power_supply": true}
			a.LastError, failed.LastError, failed.ProvisionState = "an earlier error", "the cleaning failed", states.CleanFail
			f := startFamily(t, test.series, states.PowerOn, nil, map[string]*conductor.Node{
				"a":      a,
				"off":    child(states.PowerOff),
				"own":    own,
				"failed": failed,
			})
			require.NoError(t, f.SetPower(f.ctx, f.nodes["parent"].UUID, test.target, 0))
			got := f.read("parent")
			require.Equal(t, test.target.Target(), got.Power)
			require.Equal(t, test.did, f.did)
			f.free()
			require.Equal(t, states.PowerOn, f.read("own").Power)
			if len(test.did) > 1 {
				require.Equal(t, states.PowerOff, f.read("a").Power)
				require.NotNil(t, f.read("a").PowerChangedAt)
				require.Empty(t, f.read("a").LastError)
				require.Equal(t, states.PowerOff, f.read("failed").Power)
				require.Equal(t, "the cleaning failed", f.read("failed").LastError)
			}
			require.Nil(t, f.read("off").PowerChangedAt)
		})
	}
}

// The index of a conductor learns later than the store that another one has given a child to another parent.
func TestAChildThatAnotherProcessHasMovedStaysOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &late{}
		f := start(t, func(c *conductor.Config) { c.Store, c.Membership, c.SkipPowerSync = store, withBeta{}, true })
		parent := f.create(conductor.Node{ProvisionState: states.Manageable, Power: states.PowerOn})
		other := f.create(conductor.Node{ProvisionState: states.Manageable, Power: states.PowerOn})
		child := f.create(conductor.Node{ProvisionState: states.Manageable, Power: states.PowerOn, ParentNode: parent.UUID})
		for _, n := range []*conductor.Node{parent, other, child} {
			require.NoError(t, f.fake.SetPower(f.ctx, n, states.PowerOn))
		}
		store.rewrite(t, conductor.KindNode, child.UUID, `"parent_node":"`+parent.UUID, `"parent_node":"`+other.UUID)
		require.NoError(t, f.SetPower(f.ctx, parent.UUID, states.PowerOff, 0))
		require.Equal(t, states.PowerOff, f.settle(parent).Power)
		require.Equal(t, states.PowerOn, f.settle(child).Power)
		power, err := f.fake.PowerState(f.ctx, child)
		require.NoError(t, err)
		require.Equal(t, states.PowerOn, power)
		deleted := f.create(conductor.Node{ProvisionState: states.Manageable, Power: states.PowerOn, ParentNode: other.UUID})
		r, err := store.Get(f.ctx, conductor.KindNode, deleted.UUID)
		require.NoError(t, err)
		_, err = store.Memory.Delete(f.ctx, conductor.KindNode, deleted.UUID, r.Revision)
		require.NoError(t, err)
		require.NoError(t, f.SetPower(f.ctx, other.UUID, states.PowerOff, 0))
		got := f.settle(other)
		require.Equal(t, states.PowerOff, got.Power, got.LastError)
	})
}

func TestAChildWakesItsParent(t *testing.T) {
	for name, test := range map[string]struct {
		series states.Series
		parent states.Power
		info   map[string]any
		target states.Power
		did    []string
	}{
		"off":     {states.Epoxy, states.PowerOff, nil, states.PowerOn, []string{"power on of parent", "power on of a"}},
		"unknown": {states.Epoxy, states.NoPower, nil, states.PowerOn, []string{"power on of parent", "power on of a"}},
		"on":      {states.Epoxy, states.PowerOn, nil, states.PowerOn, []string{"power on of a"}},
		"own power supply": {
			states.Epoxy, states.PowerOff, map[string]any{"has_dedicated_power_supply": "yes"},
			states.PowerOn, []string{"power on of a"},
		},
		"no power supply": {
			states.Epoxy, states.PowerOff, map[string]any{"has_dedicated_power_supply": false},
			states.PowerOn, []string{"power on of parent", "power on of a"},
		},
		"before 2025.1":       {states.Dalmatian, states.PowerOff, nil, states.PowerOn, []string{"power on of a"}},
		"the child restarted": {states.Epoxy, states.PowerOff, nil, states.PowerRebooting, []string{"power on of a"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			a := child(states.PowerOff)
			a.DriverInfo = test.info
			f := startFamily(t, test.series, test.parent, nil, map[string]*conductor.Node{"a": a, "b": child(states.PowerOff)})
			require.NoError(t, f.SetPower(f.ctx, f.nodes["a"].UUID, test.target, 0))
			require.Equal(t, states.PowerOn, f.read("a").Power, name)
			require.Equal(t, test.did, f.did, name)
			require.Equal(t, slices.Contains(test.did, "power on of parent") || test.parent == states.PowerOn,
				f.read("parent").Power == states.PowerOn)
			f.free()
		})
	}
}

func TestARelativeWhosePowerCannotBeSetFailsTheRequest(t *testing.T) {
	broken := errors.New("broken")
	for name, test := range map[string]struct {
		fail   map[string]error
		change func(c *conductor.Node) // of child b
		on     bool                    // the child is powered on instead
		text   string
		did    []string
	}{
		"locked": {
			nil, func(n *conductor.Node) { n.Reservation, n.Claim = "beta", otherMember }, false,
			" is presently locked and we are unable to perform any action on it at this time. " +
				"Please retry after the current operation is completed.", nil,
		},
		"unreadable": {map[string]error{"read power of b": broken}, nil, false, "broken", nil},
		"not set":    {map[string]error{"power off of b": broken}, nil, false, "broken", []string{"power off of a", "power off of b"}},
		"disabled": {
			nil, func(n *conductor.Node) { n.DisablePowerOff = true }, false,
			"is disabled by disable_power_off", []string{"power off of a"},
		},
		"another driver": {nil, func(n *conductor.Node) { n.Driver = "other" }, false, `no conductor has the hardware type "other"`, nil},
		"no such parent": {
			nil, func(n *conductor.Node) { n.ParentNode, n.Power = otherMember, states.PowerOff },
			true, "could not be found", nil,
		},
		"its own parent": {nil, func(n *conductor.Node) {
			n.ParentNode, n.UUID, n.Power = "00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000001", states.PowerOff
		}, true, "is presently locked", nil},
		"a parent locked": {
			map[string]error{"power on of parent": broken}, func(n *conductor.Node) { n.Power = states.PowerOff },
			true, "broken", []string{"power on of parent"},
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := child(states.PowerOn)
			if test.change != nil {
				test.change(b)
			}
			power, asked, target := states.PowerOn, "parent", states.PowerOff
			if test.on {
				power, asked, target = states.PowerOff, "b", states.PowerOn
			}
			f := startFamily(t, states.Hibiscus, power, nil, map[string]*conductor.Node{"a": child(power), "b": b})
			f.fails(test.fail)
			before := f.read("b").Power
			require.NoError(t, f.SetPower(f.ctx, f.nodes[asked].UUID, target, 0))
			bubble.Sleep(5 * time.Second) // the attempts to reserve a relative
			require.Contains(t, f.read(asked).LastError, test.text, name)
			require.Equal(t, power, f.read(asked).Power)
			require.Equal(t, test.did, f.did, name)
			require.Equal(t, before, f.read("b").Power)
			f.free()
		})
	}
}

func TestARelativeThatAWorkerHasIsLocked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFamily(t, states.Hibiscus, states.PowerOn, nil, map[string]*conductor.Node{"a": nil})
		busy := make(chan struct{})
		f.before(func(_ context.Context, n *conductor.Node, operation string) error {
			if operation == "bios.cache_bios_settings" {
				<-busy
			}
			return nil
		})
		f.request(f.nodes["a"], "clean")
		require.NoError(t, f.SetPower(f.ctx, f.nodes["parent"].UUID, states.PowerOff, 0))
		bubble.Sleep(5 * time.Second)
		require.Contains(t, f.read("parent").LastError, "Node "+f.nodes["parent"].UUID+" child_node "+f.nodes["a"].UUID+" is presently locked")
		close(busy)
		require.Equal(t, states.Manageable, f.read("a").ProvisionState)
	})
}

func TestTheErrorOfARelativeIsInItsRecordToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFamily(t, states.Hibiscus, states.PowerOn, nil, map[string]*conductor.Node{"a": nil})
		f.fails(map[string]error{"power off of a": errors.New("broken")})
		require.NoError(t, f.SetPower(f.ctx, f.nodes["parent"].UUID, states.PowerOff, 0))
		require.Contains(t, f.read("a").LastError, "broken")
		require.NotContains(t, f.read("a").LastError, f.nodes["parent"].UUID)
	})
}

func TestARelativeIsWrittenTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &counting{}
		f := startFamily(t, states.Hibiscus, states.PowerOn, func(c *conductor.Config) { c.Store = store }, map[string]*conductor.Node{"a": nil})
		before := store.updates.Load()
		require.NoError(t, f.SetPower(f.ctx, f.nodes["parent"].UUID, states.PowerOff, 0))
		f.free()
		require.EqualValues(t, 2+3, store.updates.Load()-before, "reserved, begun and ended")
	})
}

func TestARoundOfThePowerSyncWakesTheParentOfANodeThatItForcesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		synced := func(c *conductor.Config) { c.SkipPowerSync, c.Power.Interval = false, time.Minute }
		f := startFamily(t, states.Hibiscus, states.PowerOff, synced, map[string]*conductor.Node{
			"parent": {ProvisionState: states.Active, Power: states.PowerOff}, "a": {ProvisionState: states.Active, Power: states.PowerOn},
		})
		require.NoError(t, f.fake.SetPower(f.ctx, f.nodes["a"], states.PowerOff))
		f.forget()
		bubble.Sleep(2 * time.Minute)
		require.Equal(t, states.PowerOn, f.read("parent").Power)
		require.Equal(t, []string{"power on of parent", "power on of a"}, f.did)
		f.free()
	})
}
