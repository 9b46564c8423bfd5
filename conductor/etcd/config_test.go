// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"crypto/tls"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestServersWithHTTPSAreReachedByTLS(t *testing.T) {
	given, standard := &tls.Config{ServerName: "etcd"}, &tls.Config{MinVersion: tls.VersionTLS12}
	for name, test := range map[string]struct {
		endpoints   []string
		given, want *tls.Config
		refused     bool
	}{
		"http":                          {[]string{"http://a:1"}, nil, nil, false},
		"https":                         {[]string{"https://a:1"}, nil, standard, false},
		"https with a configuration":    {[]string{"https://a:1", "https://b:1"}, given, given, false},
		"http, then https":              {[]string{"http://a:1", "https://b:1"}, nil, nil, true},
		"https, then http":              {[]string{"https://a:1", "http://b:1"}, nil, nil, true},
		"http with a configuration":     {[]string{"http://a:1"}, given, nil, true},
		"one http with a configuration": {[]string{"https://a:1", "http://b:1"}, given, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := Config{Endpoints: test.endpoints, TLS: test.given}.complete()
			if test.refused {
				require.ErrorContains(t, err, "https")
				return
			}
			require.NoError(t, err)
			require.Equal(t, test.want, c.TLS)
		})
	}
}
