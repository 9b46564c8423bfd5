// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor/agent"
)

// pipes accepts the connections of a channel.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	c, ok := <-p
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (p pipes) Close() error   { return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

// TestALongCommandIsPolled is on virtual time.
func TestALongCommandIsPolled(t *testing.T) {
	const name = "install_bootloader"
	command := func(status string) string {
		return `{"id": "1", "command_name": "` + name + `", "command_status": "` + status + `", "command_error": {"details": "no space"}}`
	}
	for last, test := range map[string]struct {
		after time.Duration // until the command has its last status
		took  time.Duration // until the client knows
		want  error
	}{
		"SUCCEEDED": {9*time.Minute - 1, 9 * time.Minute, nil},
		"FAILED":    {time.Nanosecond, 6 * time.Second, agent.ErrFailed},
		"STRANGE":   {7 * time.Second, 12 * time.Second, agent.ErrAnswer},
		"RUNNING":   {0, 10 * time.Minute, agent.ErrTimeout},
	} {
		t.Run(last, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun, conns := time.Now(), make(pipes)
				s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.Method == http.MethodPost {
						_, _ = io.WriteString(w, command("RUNNING"))
						return
					}
					commands := command("SUCCEEDED") + "," + command("RUNNING") // an earlier one of the same name has succeeded
					if last != "RUNNING" && time.Since(begun) >= test.after {
						commands = command(last)
					}
					_, _ = io.WriteString(w, `{"commands": [`+commands+`, {"command_name": "other", "command_status": "FAILED"}]}`)
				})}
				go func() { _ = s.Serve(conns) }()
				defer close(conns)
				c := connect(t, agent.Config{URL: "http://agent", Dial: func(context.Context, string, string) (net.Conn, error) {
					ours, theirs := net.Pipe()
					conns <- theirs
					return ours, nil
				}})
				err := c.InstallBootloader(t.Context(), agent.Bootloader{BootMode: "uefi"})
				require.ErrorIs(t, err, test.want)
				require.Equal(t, test.took, time.Since(begun))
				if test.want == agent.ErrFailed {
					require.EqualError(t, err, "no space")
				}
			})
		})
	}
}
