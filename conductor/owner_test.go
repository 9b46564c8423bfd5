// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// owners returns the IDs of the members that own a node, and of those that choose for an allocation.
func owners(members []Member, n *Node) (own, choose []string) {
	for _, m := range members {
		s := view{id: m.ID, members: members}
		if s.owns(n) {
			own = append(own, m.ID)
		}
		if s.isChosen(n.UUID) {
			choose = append(choose, m.ID)
		}
	}
	return own, choose
}

func TestMembersShareTheNodesAndKeepThemWhenAnotherLeaves(t *testing.T) {
	drivers := []string{"ipmi"}
	members := []Member{
		{ID: "1", Hostname: "a", Drivers: drivers},
		{ID: "2", Hostname: "b", Drivers: drivers},
		{ID: "3", Hostname: "c", Drivers: drivers},
	}
	owned := map[string]int{}
	for i := range 300 {
		n := &Node{UUID: fmt.Sprint("node ", i), Driver: "ipmi"}
		own, choose := owners(members, n)
		require.Len(t, own, 1)
		require.Equal(t, own, choose)
		owned[own[0]]++
		left, choose := owners(members[:2], n)
		require.Len(t, left, 1)
		require.Equal(t, left, choose)
		if own[0] != "3" {
			require.Equal(t, own, left)
		}
		backwards := slices.Clone(members)
		slices.Reverse(backwards)
		same, _ := owners(backwards, n)
		require.Equal(t, own, same)
	}
	for id, n := range owned {
		require.Greater(t, n, 50, "member %s", id)
	}
	require.Len(t, owned, 3)
}

func TestANodeIsOwnedByAMemberOfItsGroupWithItsDriver(t *testing.T) {
	now := time.Now()
	for name, test := range map[string]struct {
		members     []Member
		own, choose []string
	}{
		"no member":       {nil, nil, nil},
		"without drivers": {[]Member{{ID: "1", Hostname: "a", Group: "g"}}, nil, nil},
		"another driver":  {[]Member{{ID: "1", Hostname: "a", Group: "g", Drivers: []string{"redfish"}}}, nil, []string{"1"}},
		"another group":   {[]Member{{ID: "1", Hostname: "a", Drivers: []string{"ipmi"}}}, nil, []string{"1"}},
		"one of two": {
			[]Member{{ID: "1", Hostname: "a"}, {ID: "2", Hostname: "b", Group: "g", Drivers: []string{"redfish", "ipmi"}}},
			[]string{"2"}, []string{"2"},
		},
		"a process and its successor": {[]Member{
			{ID: "1", Hostname: "a", Group: "g", Drivers: []string{"ipmi"}, CreatedAt: now},
			{ID: "2", Hostname: "a", Group: "g", Drivers: []string{"ipmi"}, CreatedAt: now.Add(time.Second)},
		}, []string{"2"}, []string{"2"}},
		"a successor and its process": {[]Member{
			{ID: "2", Hostname: "a", Group: "g", Drivers: []string{"ipmi"}, CreatedAt: now.Add(time.Second)},
			{ID: "1", Hostname: "a", Group: "g", Drivers: []string{"ipmi"}, CreatedAt: now},
		}, []string{"2"}, []string{"2"}},
	} {
		own, choose := owners(test.members, &Node{UUID: "n", Driver: "ipmi", ConductorGroup: "g"})
		require.Equal(t, test.own, own, name)
		require.Equal(t, test.choose, choose, name)
	}
}
