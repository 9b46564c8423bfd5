// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"bytes"
	"errors"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
)

// SECURITY.md: Logs have no passwords of URLs.
func TestTheLogOfAConductorHasNoPasswordsOfURLs(t *testing.T) {
	var out bytes.Buffer
	c, err := New(Config{
		Store:    &Memory{},
		Hardware: map[string]Hardware{"fake-hardware": &Fake{}},
		Log:      slog.New(slog.NewTextHandler(&out, nil)),
	})
	require.NoError(t, err)
	c.config.Log.With("a", "http://u:hunter2@h").Warn("b", "error", errors.New("no answer of http://u:hunter2@h"))
	require.Contains(t, out.String(), `a=http://u:******@h error="no answer of http://u:******@h"`)
	require.NotContains(t, out.String(), "hunter2")
}
