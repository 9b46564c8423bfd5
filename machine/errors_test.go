// SPDX-License-Identifier: Apache-2.0

package machine_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/machine"
)

func TestAConfigErrorNamesTheFieldAndWhatWouldBeRight(t *testing.T) {
	type word string
	cause := errors.New("the server b is unknown")
	for want, err := range map[string]*machine.ConfigError{
		"p: Store is not set: want a Store":         {Package: "p", Field: "Store", Want: "a Store"},
		"p: Interval is -1s: want 0 or more":        {Package: "p", Field: "Interval", Value: -time.Second, Want: "0 or more"},
		`p: Word is "": want one of "a" and "b"`:    {Package: "p", Field: "Word", Value: "", Want: `one of "a" and "b"`},
		`p: Word is "a": want b`:                    {Package: "p", Field: "Word", Value: word("a"), Want: "b"},
		"p: Cluster: the server b is unknown":       {Package: "p", Field: "Cluster", Err: cause},
		"p: Cluster.Peers: the server b is unknown": {Package: "p", Field: "Cluster.Peers", Value: 1, Want: "two", Err: cause},
	} {
		require.EqualError(t, err, want)
		require.Equal(t, err.Err != nil, errors.Is(err, cause))
	}
}

func TestAnUnknownKindOfAnErrorHasANumber(t *testing.T) {
	require.Equal(t, "enter", machine.EnterHook.String())
	require.Equal(t, "machine.HookKind(4)", (machine.EnterHook + 1).String())
	require.Equal(t, "machine.StateRole(3)", (machine.NamedTarget + 1).String())
}
