// SPDX-License-Identifier: Apache-2.0

package kinds_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/kinds"
)

func TestNamesFitURLsAndLists(t *testing.T) {
	for _, name := range []string{"ipmi", "idrac-9", "my_own.type", "X", "9p", "_", strings.Repeat("a", 255)} {
		require.NoError(t, kinds.CheckName(name), name)
	}
	for _, name := range []string{"", "a b", "a/b", "a\n", "a,b", "..", ".a", "-a", "ä", strings.Repeat("a", 256)} {
		require.ErrorContains(t, kinds.CheckName(name), "is invalid: want up to 255 letters", name)
	}
}

func TestATypeHasTheRequiredKinds(t *testing.T) {
	valid := map[string][]string{"boot": {"a"}, "deploy": {"a"}, "management": {"a", "noop"}, "power": {"a"}, "rescue": {"no-rescue"}}
	require.NoError(t, kinds.Check(valid))
	for text, change := range map[string]func(map[string][]string){
		"there is no power interface": func(all map[string][]string) { delete(all, "power") },
		`the name "no-boot" stands for the lack of a boot interface, which each hardware type has`: func(all map[string][]string) {
			all["boot"] = []string{"a", "no-boot"}
		},
		`rescue interface: the name "a\nb /" is invalid`: func(all map[string][]string) { all["rescue"] = []string{"a\nb /"} },
		`power interface: the name "" is invalid`:        func(all map[string][]string) { all["power"] = []string{""} },
	} {
		all := maps.Clone(valid)
		change(all)
		require.ErrorContains(t, kinds.Check(all), text)
	}
}

func TestAnAbsentKindHasIronicsInterface(t *testing.T) {
	for kind, want := range map[string]string{
		"power": "", "network": "noop", "storage": "noop", "rescue": "no-rescue", "firmware": "no-firmware",
	} {
		require.Equal(t, want, kinds.Absent(kind), kind)
	}
}
