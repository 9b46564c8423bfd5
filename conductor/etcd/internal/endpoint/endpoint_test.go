// SPDX-License-Identifier: Apache-2.0

package endpoint_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor/etcd/internal/endpoint"
)

func TestAnEndpointIsAHostAndAPort(t *testing.T) {
	const noURL, user, more = "is not a URL such as", "names a user", "is not a URL of a host and a port"
	for url, want := range map[string]struct {
		https bool
		fault string // part of the error; empty for none
	}{
		"http://a:1":         {false, ""},
		"https://a:1":        {true, ""},
		"https://[::1]:2379": {true, ""},
		"http://a:1/":        {false, ""},
		"":                   {false, noURL},
		"a:1":                {false, noURL},
		"http://":            {false, noURL},
		"http://a:port":      {false, noURL},
		"https:///path":      {false, noURL},
		"ftp://a:1":          {false, noURL},
		"unix://a:1":         {false, noURL},
		"http://u:p@a:1":     {false, user},
		"http://u@a:1":       {false, user},
		"https://r:u:p^@a:1": {false, noURL},
		"http://a":           {false, more},
		"http://a:1/v3":      {false, more},
		"http://a/":          {false, more},
		"http://a:1?q":       {false, more},
		"http://a:1/?q":      {false, more},
	} {
		t.Run(url, func(t *testing.T) {
			https, err := endpoint.IsHTTPS(url)
			require.Equal(t, want.https, https)
			if want.fault == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, want.fault)
			require.NotContains(t, err.Error(), "u:p")
		})
	}
}
