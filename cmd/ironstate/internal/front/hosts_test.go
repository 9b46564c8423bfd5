// SPDX-License-Identifier: Apache-2.0

package front

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheHostOfListenIsServed(t *testing.T) {
	for _, c := range []struct {
		listen, host string
		want         bool
	}{
		{"10.1.2.3:6385", "10.1.2.3:6385", true}, {"10.1.2.3:6385", "10.1.2.4:6385", false}, {"10.1.2.3:6385", "metal.example", false},
		{"metal.example:6385", "METAL.example:6385", true}, {"metal.example:6385", "10.1.2.3:6385", false},
		{"metal.example:6385", "metal.example.evil.example", false},
		{"[fd00::1]:6385", "[fd00:0::1]:6385", true}, {"[fd00::1]:6385", "[fd00::2]", false},
		{"0.0.0.0:6385", "10.1.2.3:6385", true}, {":6385", "[fd00::1]:6385", true}, {"[::]:6385", "10.1.2.3", true},
		{"0.0.0.0:6385", "evil.example", false}, {":6385", "", false}, {":6385", "10.1.2.3.evil.example", false}, {"127.0.0.1:0", "", false},
		{"10.1.2.3:6385", "localhost:6385", true},
	} {
		require.Equal(t, c.want, isHostOf(c.listen, c.host), "%q for -listen %s", c.host, c.listen)
	}
}
