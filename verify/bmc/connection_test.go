// SPDX-License-Identifier: Apache-2.0

package bmc

import (
	"bytes"
	"context"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/verify/bmc/internal/failure"
	"github.com/ironstate/ironstate/verify/secret"
)

// closing is a connection that can only be closed.
type closing struct {
	connection
	do func()
}

func (c closing) close(context.Context) { c.do() }
func (c closing) protocol() string      { return redfishProtocol }
func (c closing) address() string       { return "10.1.2.3:443" }
func (c closing) scrubber() *failure.Scrubber {
	return failure.NewScrubber("admin", secret.New("correct horse"))
}

// A panic in a goroutine of closeAll would end the process.
func TestAPanicWhileSessionsAreClosedIsLogged(t *testing.T) {
	var log bytes.Buffer
	ctx, cancel := Config{Timeout: graceTime, Log: slog.New(slog.NewTextHandler(&log, nil))}.begin(t.Context(), false)
	defer cancel()
	closed := false
	closeAll(ctx, []*openConnection{
		{connection: closing{do: func() { panic("correct horse") }}},
		{connection: closing{do: func() { closed = true }}},
	})
	require.True(t, closed)
	require.Contains(t, log.String(), "10.1.2.3:443")
	require.NotContains(t, log.String(), "correct horse")

	closeAll(t.Context(), []*openConnection{{connection: closing{do: func() { panic("again") }}}})
}
