// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor/agent"
)

// FuzzParseURL lets an agent name any URL. One that is accepted has a host and nothing more, and the path is the
// client's.
func FuzzParseURL(f *testing.F) {
	for _, seed := range []string{
		"http://10.0.0.7:9999", "https://[fe80::1%25eth0]/", "http://u:p@h/x?y#z", "http:h", "http://h//",
		"http://h%2f", "http://:1", "HTTP://H", "http://[::%25\xe5]",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, callback string) {
		u, err := agent.ParseURL(callback)
		if err != nil {
			require.Nil(t, u)
			return
		}
		require.NotEmpty(t, u.Hostname())
		require.Contains(t, []string{"http", "https"}, u.Scheme)
		again, err := agent.ParseURL(u.String())
		require.NoError(t, err)
		require.Equal(t, u, again)
		u.Host, u.Scheme = "", ""
		require.Equal(t, &url.URL{}, u)
	})
}
