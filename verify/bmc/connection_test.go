// SPDX-License-Identifier: Apache-2.0

package bmc

import (
	"bytes"
	"context"
	"fmt"
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

// A panic in a goroutine of closeAll would end the process. The connection logs to its own Config's log: a call may
// close the session of another node, and Driver.Close is no call.
func TestAPanicWhileSessionsAreClosedIsLogged(t *testing.T) {
	var logs [2]bytes.Buffer
	configs := [2]Config{}
	for i := range configs {
		configs[i] = Config{Timeout: graceTime, Log: slog.New(slog.NewTextHandler(&logs[i], nil))}
	}
	call, cancel := configs[0].begin(t.Context(), false)
	defer cancel()
	driver := sessionsOf(t, 1)
	for name, closeTwo := range map[string]func([]*openConnection){
		"a call for another node": func(all []*openConnection) { closeAll(call, all) },
		"Driver.Close": func(all []*openConnection) {
			for i, s := range all {
				driver.sessions.kept[fmt.Sprint(i)] = s
			}
			require.NoError(t, driver.Close(t.Context()))
		},
	} {
		closed := false
		closeTwo([]*openConnection{
			{connection: closing{do: func() { closed = true }}, config: configs[0]},
			{connection: closing{do: func() { panic("correct horse") }}, config: configs[1]},
		})
		require.True(t, closed, name)
		require.Empty(t, logs[0].String(), name)
		require.Contains(t, logs[1].String(), "10.1.2.3:443", name)
		require.NotContains(t, logs[1].String(), "correct horse", name)
		logs[1].Reset()
	}
	closeAll(t.Context(), []*openConnection{{connection: closing{do: func() { panic("without a log") }}}})
}
