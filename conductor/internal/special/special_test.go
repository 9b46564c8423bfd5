// SPDX-License-Identifier: Apache-2.0

package special_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor/internal/special"
)

func TestSpecialAddressesBelongToNoMachineOfANetwork(t *testing.T) {
	for text, network := range map[string]string{
		"127.0.0.1": "127.0.0.0/8", "127.255.255.254": "127.0.0.0/8", "0.0.0.0": "0.0.0.0/8", "169.254.169.254": "169.254.0.0/16",
		"224.0.0.1": "224.0.0.0/4", "239.255.255.255": "224.0.0.0/4", "255.255.255.255": "255.255.255.255/32", "::ffff:127.0.0.1": "127.0.0.0/8",
		"::": "::/128", "::1": "::1/128", "fe80::1%eth0": "fe80::/10", "febf::1": "fe80::/10", "ff02::1": "ff00::/8",
		"::ffff:169.254.1.1": "169.254.0.0/16",
		"10.0.0.1":           "", "192.168.1.1": "", "172.16.0.1": "", "192.0.2.1": "", "2001:db8::1": "", "fd00::1": "",
		"fec0::1": "", "::2": "", "1.0.0.0": "", "128.0.0.1": "",
	} {
		got := special.Network(netip.MustParseAddr(text))
		require.Equal(t, network != "", got.IsValid(), text)
		if network != "" {
			require.Equal(t, network, got.String(), text)
		}
	}
	require.False(t, special.Network(netip.Addr{}).IsValid())
}
