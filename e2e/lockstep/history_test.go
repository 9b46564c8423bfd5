// SPDX-License-Identifier: Apache-2.0

package lockstep

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/states"
)

// TestHistories compares the history of nodes after failures, aborts and timeouts.
func TestHistories(t *testing.T) {
	t.Parallel()
	i, s := start(t, Options{}), serve(t, states.Antelope)
	for _, test := range []struct {
		from    states.State
		word    string
		outcome Outcome
		then    string // the next request; "timeout" lets the wait time out
		want    []string
	}{
		{states.Enroll, "manage", Fail, "", []string{"ERROR verify"}},
		{states.Manageable, "inspect", Fail, "", []string{"ERROR introspection"}},
		{states.Manageable, "inspect", Wait, "abort", []string{"ERROR introspection"}},
		{states.Manageable, "inspect", Wait, "timeout", []string{"ERROR transition"}},
		{states.Manageable, "clean", Fail, "", []string{"ERROR cleaning"}},
		{states.Manageable, "clean", Wait, "timeout", []string{"ERROR cleaning"}},
		{states.Manageable, "adopt", Fail, "", []string{"ERROR adoption"}},
		{states.Available, "active", Fail, "", []string{"ERROR deploying"}},
		{states.Available, "active", Wait, "timeout", []string{"ERROR deploying"}},
		{states.Available, "active", Done, "deleted", []string{}},
		{states.Active, "deleted", Fail, "", []string{"ERROR unprovision"}},
		{states.Active, "rescue", Fail, "", []string{"ERROR rescue"}},
		{states.Active, "rescue", Wait, "abort", []string{"INFO rescue"}},
		{states.Active, "rescue", Wait, "timeout", []string{"ERROR rescue"}},
		{states.Rescue, "unrescue", Fail, "", []string{"ERROR rescue"}},
	} {
		l := i.beginLife(t.Context(), s, test.from)
		found := l.request(t.Context(), test.word, i.newest(), test.outcome)
		require.Nil(t, found)
		switch test.then {
		case "":
		case "timeout":
			found = l.expire(t.Context())
		default:
			found = l.request(t.Context(), test.then, i.newest(), Done)
		}
		require.Nil(t, found, "%+v", test)
		require.Equal(t, test.want, s.Client.History(t.Context(), i.newest(), l.uuid), "%s in %v, then %s", test.word, test.from, test.then)
	}
}
