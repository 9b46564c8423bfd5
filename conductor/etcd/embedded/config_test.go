// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTheDefaultsOfAConfiguration(t *testing.T) {
	c, err := Config{Dir: "d"}.complete()
	require.NoError(t, err)
	require.Equal(t, Config{Dir: "d", Quota: 8 * 1024 * 1024 * 1024, Reserve: 256 * 1024 * 1024, Log: slog.New(slog.DiscardHandler),
		maintainEvery: time.Minute}, c)

	given := Config{
		Dir: "d", Quota: 1, Reserve: 2, Prefix: "/p", Log: slog.New(slog.NewTextHandler(io.Discard, nil)), maintainEvery: time.Second,
	}
	c, err = given.complete()
	require.NoError(t, err)
	require.Equal(t, given, c)
}

func TestTheBoundsOfAConfiguration(t *testing.T) {
	for name, c := range map[string]struct {
		config Config
		fault  string
	}{
		"no folder":          {Config{Quota: 1}, `embedded: Dir is "": want a folder`},
		"a relative prefix":  {Config{Dir: "d", Prefix: "ironstate"}, `embedded: Prefix is "ironstate": want one that begins with a slash`},
		"a negative quota":   {Config{Dir: "d", Quota: -1}, "embedded: Quota is -1: want 0 or more"},
		"a negative reserve": {Config{Dir: "d", Reserve: -1}, "embedded: Reserve is -1: want 0 or more"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := c.config.complete()
			require.ErrorContains(t, err, c.fault)
		})
	}
}
