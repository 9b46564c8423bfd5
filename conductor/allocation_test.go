// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/bubble"
	"github.com/ironstate/ironstate/states"
)

// allocation returns the stored allocation, once it has been processed.
func (f *fleet) allocation(ident string) *conductor.Allocation {
	f.t.Helper()
	synctest.Wait()
	o, err := f.Object(f.ctx, conductor.KindAllocation, ident)
	require.NoError(f.t, err)
	return o.(*conductor.Allocation)
}

func TestAnAllocationGetsANodeThatFits(t *testing.T) {
	const first, second = "00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002"
	for name, test := range map[string]struct {
		asks  conductor.Allocation
		nodes [2]conductor.Node
		want  string // the node's UUID, or the end of the error
	}{
		"by resource class": {
			conductor.Allocation{ResourceClass: "big"}, [2]conductor.Node{{ResourceClass: "small"}, {ResourceClass: "big"}}, second,
		},
		"by candidate": {
			conductor.Allocation{ResourceClass: "big", CandidateNodes: []string{second}},
			[2]conductor.Node{{ResourceClass: "big"}, {ResourceClass: "big"}}, second,
		},
		"no candidate of the class": {
			conductor.Allocation{ResourceClass: "big", CandidateNodes: []string{second}}, [2]conductor.Node{{ResourceClass: "big"}, {}},
			"none of the requested nodes are available and match the resource class big.",
		},
		"no node of the class": {
			conductor.Allocation{ResourceClass: "big"}, [2]conductor.Node{}, "no available nodes match the resource class big.",
		},
		"by traits": {
			conductor.Allocation{Traits: []string{"CUSTOM_A", "CUSTOM_B"}},
			[2]conductor.Node{{Traits: []string{"CUSTOM_A", "CUSTOM_C"}}, {Traits: []string{"CUSTOM_A", "CUSTOM_B"}}}, second,
		},
		"no node with the traits": {
			conductor.Allocation{Traits: []string{"CUSTOM_A", "CUSTOM_B"}},
			[2]conductor.Node{{Traits: []string{"CUSTOM_A"}}, {Traits: []string{"CUSTOM_B"}}},
			"no suitable nodes have the requested traits CUSTOM_A, CUSTOM_B.",
		},
		"by owner":  {conductor.Allocation{Owner: "me"}, [2]conductor.Node{{Owner: "you"}, {Owner: "me"}}, second},
		"by lessee": {conductor.Allocation{Owner: "me"}, [2]conductor.Node{{Owner: "you"}, {Owner: "you", Lessee: "me"}}, second},
		"another owner's node": {
			conductor.Allocation{Owner: "me"}, [2]conductor.Node{{Owner: "you"}, {}},
			"no available nodes match the resource class None.",
		},
		"a node in maintenance": {conductor.Allocation{}, [2]conductor.Node{{Maintenance: true}, {}}, second},
		"a node without power":  {conductor.Allocation{}, [2]conductor.Node{{Power: states.NoPower}, {Power: states.PowerOn}}, second},
		"a node with an instance": {
			conductor.Allocation{}, [2]conductor.Node{{InstanceUUID: "an instance"}, {}}, second,
		},
		"the node of the same name comes first": {
			conductor.Allocation{ObjectMeta: conductor.ObjectMeta{Name: "wanted"}}, [2]conductor.Node{{Name: "another"}, {Name: "wanted"}}, second,
		},
	} {
		t.Run(name, func(t *testing.T) {
			for range 8 { // the order of the candidates is random
				synctest.Test(t, func(t *testing.T) {
					f := start(t, func(c *conductor.Config) { c.SkipPowerSync = true })
					for i, uuid := range []string{first, second} {
						n := test.nodes[i].Clone()
						n.UUID, n.Driver, n.ProvisionState = uuid, "fake-hardware", states.Available
						if name != "a node without power" {
							n.Power = states.PowerOff
						}
						_, err := f.CreateNode(f.ctx, n)
						require.NoError(t, err)
					}
					made, err := f.allocate(&test.asks)
					require.NoError(t, err)
					require.Equal(t, states.Allocating, made.State)
					a := f.allocation(made.UUID)
					if test.want != second {
						require.Equal(t, states.AllocationError, a.State)
						require.Equal(t, "Failed to process allocation "+a.UUID+": "+test.want, a.LastError)
						require.Empty(t, a.NodeUUID)
						return
					}
					require.Equal(t, states.AllocationActive, a.State, a.LastError)
					require.Empty(t, a.LastError)
					require.Equal(t, second, a.NodeUUID)

					n, err := f.Node(f.ctx, second)
					require.NoError(t, err)
					require.Equal(t, []string{a.UUID, a.UUID}, []string{n.AllocationUUID, n.InstanceUUID})
					want := []any{}
					for _, trait := range a.Traits {
						want = append(want, trait)
					}
					require.Equal(t, want, n.InstanceInfo["traits"])

					require.NoError(t, f.DeleteObject(f.ctx, conductor.KindAllocation, a.UUID))
					n = f.settle(n)
					require.Empty(t, n.AllocationUUID+n.InstanceUUID)
					require.NotContains(t, n.InstanceInfo, "traits")
				})
			}
		})
	}
}

func TestAnAllocationThatNamesItsNode(t *testing.T) {
	const unfit = "Cannot backfill an allocation for node NODE: "
	for name, test := range map[string]struct {
		asks conductor.Allocation
		node conductor.Node
		why  string // empty if the allocation gets the node
	}{
		"an active node": {conductor.Allocation{}, conductor.Node{ProvisionState: states.Active}, ""},
		"one that fits in everything": {
			conductor.Allocation{ResourceClass: "big", Traits: []string{"CUSTOM_A"}, CandidateNodes: []string{"NODE", "another"}},
			conductor.Node{ProvisionState: states.Active, ResourceClass: "big", Traits: []string{"CUSTOM_A", "CUSTOM_B"}}, "",
		},
		"one with the allocation as its instance": {
			conductor.Allocation{ObjectMeta: conductor.ObjectMeta{UUID: "00000000-0000-4000-8000-000000000009"}},
			conductor.Node{ProvisionState: states.Active, InstanceUUID: "00000000-0000-4000-8000-000000000009"}, "",
		},
		"one that is not active": {
			conductor.Allocation{}, conductor.Node{ProvisionState: states.Available},
			unfit + `Node must be in the "active" state, but the current state is "available"`,
		},
		"one of another class": {
			conductor.Allocation{ResourceClass: "big"}, conductor.Node{ProvisionState: states.Active, ResourceClass: "small"},
			unfit + "Resource class small does not match the requested resource class big",
		},
		"one without class": {
			conductor.Allocation{ResourceClass: "big"}, conductor.Node{ProvisionState: states.Active},
			unfit + "Resource class None does not match the requested resource class big",
		},
		"one without a trait, and not a candidate": {
			conductor.Allocation{Traits: []string{"CUSTOM_A"}, CandidateNodes: []string{"another"}},
			conductor.Node{ProvisionState: states.Active, Traits: []string{"CUSTOM_B"}},
			unfit + "List of traits ['CUSTOM_B'] does not match the requested traits ['CUSTOM_A']; " +
				"Candidate nodes must be empty or contain the target node, but got ['another']",
		},
		"one with an instance": {
			conductor.Allocation{}, conductor.Node{ProvisionState: states.Active, InstanceUUID: "an instance"},
			"Node NODE is associated with instance an instance.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const uuid = "00000000-0000-4000-8000-000000000001"
				f := start(t, nil)
				node := test.node.Clone()
				node.UUID, node.Driver = uuid, "fake-hardware"
				_, err := f.CreateNode(f.ctx, node)
				require.NoError(t, err)
				asks := test.asks
				asks.Name, asks.NodeUUID = "backfilled", uuid
				asks.CandidateNodes = strings.Fields(strings.ReplaceAll(strings.Join(asks.CandidateNodes, " "), "NODE", uuid))

				made, err := f.allocate(&asks)
				a := f.allocation("backfilled")
				n, nodeErr := f.Node(f.ctx, uuid)
				require.NoError(t, nodeErr)
				require.False(t, a.Backfill)
				if test.why == "" {
					require.NoError(t, err)
					require.Equal(t, made, a)
					require.Equal(t, states.AllocationActive, a.State)
					require.Equal(t, []string{uuid, a.UUID, a.UUID}, []string{a.NodeUUID, n.AllocationUUID, n.InstanceUUID})
					return
				}
				why := strings.ReplaceAll(test.why, "NODE", uuid)
				require.ErrorContains(t, err, why)
				require.Equal(t, states.AllocationError, a.State)
				require.Contains(t, a.LastError, why)
				require.Empty(t, a.NodeUUID+n.AllocationUUID)
			})
		})
	}
}

func TestANodeThatIsNamedAndDoesNotExistEndsItsAllocation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, nil)
		_, err := f.allocate(&conductor.Allocation{ObjectMeta: conductor.ObjectMeta{Name: "a", NodeUUID: "nowhere"}})
		require.ErrorIs(t, err, conductor.NotFound)
		require.Equal(t, states.AllocationError, f.allocation("a").State)
	})
}

// A process that stored an allocation with a named node, and died, has not told its client that the
// allocation succeeded.
func TestAnAllocationWhoseNodeWasNamedGetsNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var store conductor.Store
		f := start(t, func(c *conductor.Config) { store = c.Store })
		made, err := f.allocate(&conductor.Allocation{})
		require.NoError(t, err)
		require.Equal(t, states.AllocationError, f.allocation(made.UUID).State)
		_, err = f.CreateNode(f.ctx, &conductor.Node{Driver: "fake-hardware", ProvisionState: states.Available, Power: states.PowerOff})
		require.NoError(t, err)
		rewrite := func(from, to string) {
			r, err := store.Get(f.ctx, conductor.KindAllocation, made.UUID)
			require.NoError(t, err)
			require.Contains(t, string(r.Value), from)
			r.Value = []byte(strings.Replace(string(r.Value), from, to, 1))
			_, err = store.Update(f.ctx, r)
			require.NoError(t, err)
			bubble.Sleep(time.Hour)
		}
		rewrite(`"state":"error"`, `"state":"allocating","backfill":true`)
		require.Equal(t, states.AllocationError, f.allocation(made.UUID).State)
		require.Contains(t, f.allocation(made.UUID).LastError, "the request that names its node was cut off")
		rewrite(`"state":"error"`, `"state":"allocating"`)
		require.Equal(t, states.AllocationActive, f.allocation(made.UUID).State, "others are processed after a restart")
	})
}

func TestTheAllocationOfANodeInWorkIsNotDeleted(t *testing.T) {
	for name, test := range map[string]struct {
		in          states.State
		maintenance bool
		why         string
	}{
		"available":             {states.Available, false, ""},
		"active":                {states.Active, false, "because the node is active (and maintenance mode is off)"},
		"active in maintenance": {states.Active, true, ""},
		"waiting": {states.CleanWait, false,
			"because the node is in state clean wait where updates are not allowed (and maintenance mode is off)"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var store conductor.Store
				f := start(t, func(c *conductor.Config) { store = c.Store })
				n, err := f.CreateNode(f.ctx, &conductor.Node{Driver: "fake-hardware", ProvisionState: states.Active})
				require.NoError(t, err)
				a, err := f.allocate(&conductor.Allocation{ObjectMeta: conductor.ObjectMeta{NodeUUID: n.UUID}})
				require.NoError(t, err)
				target := "null"
				if test.in == states.CleanWait {
					target = `"available"`
				}
				r, err := store.Get(f.ctx, conductor.KindNode, n.UUID)
				require.NoError(t, err)
				r.Value = []byte(strings.Replace(string(r.Value), `"provision_state":"active","target_provision_state":null`,
					`"provision_state":"`+test.in.String()+`","target_provision_state":`+target, 1))
				_, err = store.Update(f.ctx, r)
				require.NoError(t, err)
				synctest.Wait()
				if test.maintenance {
					_, err = f.UpdateNode(f.ctx, n.UUID, func(n *conductor.Node) error { n.Maintenance = true; return nil })
					require.NoError(t, err)
				}

				err = f.DeleteObject(f.ctx, conductor.KindAllocation, a.UUID)
				if test.why == "" {
					require.NoError(t, err)
					require.Empty(t, f.settle(n).AllocationUUID)
					return
				}
				require.ErrorIs(t, err, conductor.WrongState)
				require.ErrorContains(t, err, "Cannot remove allocation "+a.UUID+" for node "+n.UUID+", "+test.why)
				require.Equal(t, a.UUID, f.settle(n).AllocationUUID)
				require.Equal(t, states.AllocationActive, f.allocation(a.UUID).State)
			})
		})
	}
}

func TestAnAllocationIsDeletedAfterItsNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var store conductor.Store
		f := start(t, func(c *conductor.Config) { store = c.Store })
		n := f.node(states.Active)
		a, err := f.allocate(&conductor.Allocation{ObjectMeta: conductor.ObjectMeta{NodeUUID: n.UUID}})
		require.NoError(t, err)
		r, err := store.Get(f.ctx, conductor.KindNode, n.UUID)
		require.NoError(t, err)
		_, err = store.Delete(f.ctx, conductor.KindNode, n.UUID, r.Revision)
		require.NoError(t, err)
		synctest.Wait()
		require.NoError(t, f.DeleteObject(f.ctx, conductor.KindAllocation, a.UUID))
		require.ErrorIs(t, f.DeleteObject(f.ctx, conductor.KindAllocation, a.UUID), conductor.NotFound)
	})
}

func TestAnAllocationWhoseRecordIsDamagedIsDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, n, store, _ := allocating(t)
		f.asks()
		r, err := store.Get(f.ctx, conductor.KindAllocation, allocationID)
		require.NoError(t, err)
		r.Value = []byte(`{"version":1,"state":7}`)
		_, err = store.Update(f.ctx, r)
		require.NoError(t, err)
		synctest.Wait()
		require.NoError(t, f.DeleteObject(f.ctx, conductor.KindAllocation, allocationID))
		require.Empty(t, f.settle(n).AllocationUUID)
		_, err = store.Get(f.ctx, conductor.KindAllocation, allocationID)
		require.ErrorIs(t, err, conductor.NotFound)
	})
}
