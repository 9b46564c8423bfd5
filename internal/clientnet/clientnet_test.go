// SPDX-License-Identifier: Apache-2.0

package clientnet_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/clientnet"
)

func TestTheAddressesOfAClient(t *testing.T) {
	for remote, want := range map[string]string{
		"10.0.0.1:1":          "10.0.0.1/32",
		"[::ffff:10.0.0.1]:2": "10.0.0.1/32",
		"[fd00::1:2:3:4]:1":   "fd00::/64",
		"[fe80::1%eth0]:1":    "fe80::/64",
		"":                    "invalid Prefix",
		"@":                   "invalid Prefix",
	} {
		require.Equal(t, want, clientnet.Of(remote).String(), remote)
	}
}
