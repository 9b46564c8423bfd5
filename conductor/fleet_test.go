// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"fmt"
	"iter"
	"math"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/needs"
	"github.com/ironstate/ironstate/states"
)

// counting is a store that counts its reads and updates. If silent, its watches yield
// nothing but Synced.
type counting struct {
	conductor.Memory
	reads, updates atomic.Int64
	silent         bool
}

func (w *counting) Get(ctx context.Context, kind conductor.Kind, key string) (conductor.Record, error) {
	w.reads.Add(1)
	return w.Memory.Get(ctx, kind, key)
}

func (w *counting) Update(ctx context.Context, r conductor.Record) (int64, error) {
	w.updates.Add(1)
	return w.Memory.Update(ctx, r)
}

func (w *counting) Watch(ctx context.Context, kind conductor.Kind) iter.Seq2[conductor.Change, error] {
	if !w.silent {
		return w.Memory.Watch(ctx, kind)
	}
	return func(yield func(conductor.Change, error) bool) {
		if yield(conductor.Change{Synced: true}, nil) {
			<-ctx.Done()
		}
	}
}

func TestOnlyAConductorWithOthersReadsItsNodesFromTheStore(t *testing.T) {
	for name, test := range map[string]struct {
		membership conductor.Membership
		reads      int64
	}{
		"alone": {nil, 0}, "with another": {withBeta{}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &counting{}
				f := start(t, func(c *conductor.Config) { c.Store, c.Membership = store, test.membership })
				made, err := f.CreateNode(f.ctx, &conductor.Node{Name: "one", Driver: "fake-hardware", ProvisionState: states.Enroll})
				require.NoError(t, err)
				renamed, err := f.UpdateNode(f.ctx, "one", func(n *conductor.Node) error {
					n.Name = "two"
					return nil
				})
				require.NoError(t, err)
				for _, ident := range []string{made.UUID, "two"} {
					n, err := f.Node(f.ctx, ident)
					require.NoError(t, err)
					require.Equal(t, renamed, n)
				}
				require.Equal(t, test.reads, store.reads.Load())

				_, err = f.Node(f.ctx, "one")
				require.ErrorIs(t, err, conductor.NotFound, "the name that it had")
				require.NoError(t, f.DeleteNode(f.ctx, "two"))
				for _, ident := range []string{made.UUID, "two"} {
					_, err = f.Node(f.ctx, ident)
					require.ErrorIs(t, err, conductor.NotFound)
				}
			})
		})
	}
}

func TestANodeIsFoundByItsNewNameAlsoIfAnotherNodeHasItsOldOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, func(c *conductor.Config) { c.Membership = nil })
		names := func(from, to string) *conductor.Node {
			n, err := f.UpdateNode(f.ctx, from, func(n *conductor.Node) error {
				n.Name = to
				return nil
			})
			require.NoError(t, err)
			return n
		}
		for _, name := range []string{"a", "b"} {
			_, err := f.CreateNode(f.ctx, &conductor.Node{Name: name, Driver: "fake-hardware", ProvisionState: states.Enroll})
			require.NoError(t, err)
		}
		a := names("a", "c")
		b := names("b", "a")
		for name, want := range map[string]*conductor.Node{"c": a, "a": b} {
			n, err := f.Node(f.ctx, name)
			require.NoError(t, err)
			require.Equal(t, want.UUID, n.UUID)
		}
	})
}

func TestAWriteThatTheWatchHasNotYieldedCostsOneConflict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &counting{silent: true}
		f := start(t, func(c *conductor.Config) { c.Store, c.Membership = store, nil })
		n, err := f.CreateNode(f.ctx, &conductor.Node{Name: "one", Driver: "fake-hardware", ProvisionState: states.Enroll})
		require.NoError(t, err)
		for _, do := range []func() error{
			func() error {
				_, err := f.UpdateNode(f.ctx, n.UUID, func(*conductor.Node) error { return nil })
				return err
			},
			func() error {
				return f.Provision(f.ctx, n.UUID, conductor.ProvisionRequest{Target: "manage", Version: 82})
			},
			func() error { return f.DeleteNode(f.ctx, n.UUID) },
		} {
			r, err := store.Memory.Get(f.ctx, conductor.KindNode, n.UUID)
			require.NoError(t, err)
			_, err = store.Memory.Update(f.ctx, r)
			require.NoError(t, err)
			before := store.updates.Load()
			require.NoError(t, do())
			synctest.Wait()
			require.LessOrEqual(t, store.updates.Load()-before, int64(3), "conflict, request, end of the verification")
		}
	})
}

// TestANodeTakesLittleMemory bounds the memory per node of a conductor that reads its nodes
// from a store: 100,000 nodes must fit, together with the store, into 1.5 GiB.
func TestANodeTakesLittleMemory(t *testing.T) {
	needs.Time(t)
	const fleet, bytesANode = 5000, 6 << 10
	store := &conductor.Memory{}
	first := start(t, func(c *conductor.Config) { c.Store = store })
	for i := range fleet {
		_, err := first.CreateNode(first.ctx, &conductor.Node{
			Name:           fmt.Sprint("node-", i),
			Driver:         "fake-hardware",
			ProvisionState: states.Enroll,
			ResourceClass:  "baremetal",
			DriverInfo: map[string]any{
				"redfish_address":   "https://10.1.2.3",
				"redfish_username":  "admin",
				"redfish_password":  "secret",
				"redfish_system_id": "/redfish/v1/Systems/1",
			},
			Properties: map[string]any{"cpus": 64, "cpu_arch": "x86_64", "memory_mb": 524288, "local_gb": 3840, "capabilities": "boot_mode:uefi"},
			Extra:      map[string]any{"rack": "r17", "unit": 23},
		})
		require.NoError(t, err)
	}
	least := int64(math.MaxInt64)
	for i := range 3 { // the first conductor works meanwhile
		before := heap()
		another := start(t, func(c *conductor.Config) { c.Store, c.Name = store, fmt.Sprint("gamma-", i) })
		nodes, err := another.Nodes(another.ctx)
		require.NoError(t, err)
		require.Len(t, nodes, fleet)
		least = min(least, heap()-before)
	}
	require.Less(t, least/fleet, int64(bytesANode), "bytes a node")
}

// heap returns the size of the live heap in bytes.
func heap() int64 {
	runtime.GC()
	runtime.GC() // frees objects that the first run has finalized
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestALifeWritesNoMoreThanItMust(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &counting{}
		f := start(t, func(c *conductor.Config) { c.Store, c.Membership = store, nil })
		n, err := f.CreateNode(f.ctx, &conductor.Node{Driver: "fake-hardware", ProvisionState: states.Enroll})
		require.NoError(t, err)
		for _, step := range []struct {
			target string
			end    states.State
			writes int64
		}{
			{"manage", states.Manageable, 2},
			{"provide", states.Available, 3}, // its cleaning has one step, which is stored before it runs
			{"active", states.Active, 3},
			{"deleted", states.Available, 5}, // one step, then a cleaning with one
		} {
			before := store.updates.Load()
			require.NoError(t, f.Provision(f.ctx, n.UUID, conductor.ProvisionRequest{Target: step.target, Version: 82}))
			synctest.Wait()
			n, err := f.Node(f.ctx, n.UUID)
			require.NoError(t, err)
			require.Equal(t, step.end, n.ProvisionState)
			require.Equal(t, step.writes, store.updates.Load()-before, step.target)
		}
	})
}

func TestAWatcherSeesNodesInTheOrderOfTheirChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, nil)
		create := func(name string) *conductor.Node {
			n, err := f.CreateNode(f.ctx, &conductor.Node{Name: name, Driver: "fake-hardware", ProvisionState: states.Enroll})
			require.NoError(t, err)
			return n
		}
		before := create("before")
		ctx, cancel := context.WithCancel(f.ctx)
		seen, ended := make(chan conductor.NodeChange), make(chan bool)
		go func() {
			defer close(ended)
			for change := range f.WatchNodes(ctx) {
				seen <- change
			}
		}()
		require.Equal(t, conductor.NodeChange{UUID: before.UUID, Node: before}, <-seen)
		require.Equal(t, conductor.NodeChange{}, <-seen)
		after := create("after")
		require.Equal(t, conductor.NodeChange{UUID: after.UUID, Node: after}, <-seen)
		renamed, err := f.UpdateNode(f.ctx, "after", func(n *conductor.Node) error { n.Name = "renamed"; return nil })
		require.NoError(t, err)
		require.Equal(t, conductor.NodeChange{UUID: after.UUID, Node: renamed}, <-seen)
		require.NoError(t, f.DeleteNode(f.ctx, "before"))
		require.Equal(t, conductor.NodeChange{UUID: before.UUID}, <-seen)
		cancel()
		<-ended
	})
}

func TestANodeIsNeverOlderThanAWatcherHasSeenIt(t *testing.T) {
	f := start(t, func(c *conductor.Config) { c.Membership = nil })
	n, err := f.CreateNode(f.ctx, &conductor.Node{Driver: "fake-hardware", ProvisionState: states.Enroll})
	require.NoError(t, err)
	const writes = 2000
	done := make(chan error, 1)
	go func() {
		for i := range writes {
			if _, err := f.UpdateNode(f.ctx, n.UUID, func(n *conductor.Node) error { n.Description = fmt.Sprint(i); return nil }); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	for change := range f.WatchNodes(f.ctx) {
		if change.Node == nil {
			continue
		}
		now, err := f.Node(f.ctx, n.UUID)
		require.NoError(t, err)
		require.GreaterOrEqual(t, now.Revision, change.Node.Revision)
		if change.Node.Description == fmt.Sprint(writes-1) {
			break
		}
	}
	require.NoError(t, <-done)
}

// overtaken is a store that returns from an update only after another update was stored and
// the watch has yielded it.
type overtaken struct {
	conductor.Memory
	by atomic.Pointer[func()] // the other update; nil once it was done
}

func (o *overtaken) Update(ctx context.Context, r conductor.Record) (int64, error) {
	revision, err := o.Memory.Update(ctx, r)
	if by := o.by.Swap(nil); by != nil {
		(*by)()
		synctest.Wait()
	}
	return revision, err
}

func TestAWriteWhoseAnswerComesLateDoesNotHideANewerOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &overtaken{}
		f := start(t, func(c *conductor.Config) { c.Store, c.Membership = store, nil })
		n := f.node(states.Enroll)
		by := func() {
			_, err := f.UpdateNode(f.ctx, n.UUID, func(n *conductor.Node) error { n.Owner = "second"; return nil })
			require.NoError(t, err)
		}
		f.settle(n)
		store.by.Store(&by)
		_, err := f.UpdateNode(f.ctx, n.UUID, func(n *conductor.Node) error { n.Description = "first"; return nil })
		require.NoError(t, err)
		got, err := f.Conductor.Node(f.ctx, n.UUID)
		require.NoError(t, err)
		require.Equal(t, "first", got.Description)
		require.Equal(t, "second", got.Owner)
	})
}

func TestARangeOfNodesMatchesTheWholeList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, nil)
		var parents []string
		for i := range 700 { // several parts
			parent := ""
			if i > 0 && i%3 == 0 {
				parent = parents[i%2]
			}
			n, err := f.CreateNode(f.ctx, &conductor.Node{Driver: "fake-hardware", ProvisionState: states.Enroll, ParentNode: parent})
			require.NoError(t, err)
			parents = append(parents, n.UUID)
		}
		moved, err := f.UpdateNode(f.ctx, parents[4], func(n *conductor.Node) error { n.ParentNode = parents[0]; return nil })
		require.NoError(t, err)
		all, err := f.Nodes(f.ctx)
		require.NoError(t, err)
		for _, parent := range []*string{nil, new(string), &parents[0], &parents[1], &moved.UUID} {
			for _, after := range []string{"", all[0].UUID, moved.UUID, all[5].UUID, all[len(all)-1].UUID} {
				for _, backwards := range []bool{false, true} {
					list := slices.Clone(all)
					if backwards {
						slices.Reverse(list)
					}
					list = list[slices.IndexFunc(list, func(n *conductor.Node) bool { return n.UUID == after })+1:]
					list = slices.DeleteFunc(list, func(n *conductor.Node) bool { return parent != nil && n.ParentNode != *parent })
					got, err := f.NodesIn(f.ctx, conductor.Range{Of: parent, After: after, Backwards: backwards})
					require.NoError(t, err)
					require.Equal(t, list, slices.AppendSeq([]*conductor.Node{}, got))
				}
			}
		}
		_, err = f.NodesIn(f.ctx, conductor.Range{After: "no node"})
		require.ErrorIs(t, err, conductor.NotFound)
	})
}
