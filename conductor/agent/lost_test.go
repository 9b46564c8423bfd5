// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor/agent"
)

// ended returns the command of a step that has ended.
func ended(status, result string) string {
	return `{"id": "1", "command_name": "execute_clean_step", "command_status": "` + status +
		`", "command_error": null, "command_result": ` + result + `}`
}

// TestALostAnswer closes the connection after it has received a command.
func TestALostAnswer(t *testing.T) {
	const done = `{"clean_step": {"interface": "deploy", "step": "erase_devices"}}`
	for _, test := range []struct {
		name, commands string
		repeated       bool
		posts          int
		status         agent.Status // of the command that is taken for the step
	}{
		{"the command runs", running, false, 1, agent.Running},
		{"the step has succeeded", ended("SUCCEEDED", done), false, 1, agent.Succeeded},
		{"the step has succeeded, or the one before of the same name", ended("SUCCEEDED", done), true, 3, ""},
		{"the step has failed", ended("FAILED", "null"), true, 1, agent.Failed},
		{"another step has succeeded", ended("SUCCEEDED", `{"clean_step": {"interface": "deploy", "step": "burnin_cpu"}}`), false, 3, ""},
		{"the agent has other hardware managers", ended("CLEAN_VERSION_MISMATCH", done), false, 3, ""},
		{"another command runs", strings.Replace(running, "execute_clean_step", "power_off", 1), false, 3, ""},
		{"there is no command", "", false, 3, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, c := listen(t, func(w http.ResponseWriter, r *http.Request, _ string) {
				if r.Method == http.MethodPost {
					panic(http.ErrAbortHandler)
				}
				_, _ = io.WriteString(w, `{"commands": [`+test.commands+`]}`)
			})
			step := erase
			step.Repeated = test.repeated
			command, err := c.Execute(t.Context(), agent.Clean, step, nil, agent.Machine{Node: map[string]any{"uuid": node}})
			require.Equal(t, test.posts, posts(s))
			require.Equal(t, test.status, command.Status)
			if test.status != "" {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, agent.ErrConnection)
			require.Contains(t, err.Error(),
				"Failed to connect to the agent running on node "+node+" for invoking command clean.execute_clean_step. Error: ")
		})
	}
}

// posts returns the number of commands that an agent has received.
func posts(s *server) (n int) {
	for _, request := range s.sent() {
		if strings.HasPrefix(request, "POST") {
			n++
		}
	}
	return n
}

func TestALostAnswerToAPowerOff(t *testing.T) {
	off := strings.Replace(running, "execute_clean_step", "power_off", 1)
	for commands, want := range map[string]struct {
		posts int
		err   error
	}{
		off:     {1, nil},
		running: {3, agent.ErrConnection},
		strings.Replace(off, "RUNNING", "FAILED", 1): {3, agent.ErrConnection},
	} {
		s, c := listen(t, func(w http.ResponseWriter, r *http.Request, _ string) {
			if r.Method == http.MethodPost {
				panic(http.ErrAbortHandler)
			}
			_, _ = io.WriteString(w, `{"commands": [`+commands+`]}`)
		})
		require.ErrorIs(t, c.PowerOff(t.Context()), want.err)
		require.Equal(t, want.posts, posts(s))
	}
}

func TestAQuestionWithoutAnAnswerIsAskedAgain(t *testing.T) {
	for answered, want := range map[int]error{2: nil, 3: nil, 4: agent.ErrConnection} {
		var s *server
		var c *agent.Client
		s, c = listen(t, func(w http.ResponseWriter, _ *http.Request, _ string) {
			if len(s.sent()) < answered {
				panic(http.ErrAbortHandler)
			}
			_, _ = io.WriteString(w, `{"commands": []}`)
		})
		_, err := c.Commands(t.Context())
		require.ErrorIs(t, err, want)
		require.Len(t, s.sent(), min(answered, 3))
	}
}

// TestAnAgentThatIsBusyAfterALostAnswerWithOtherWork lets the agent be busy with a command of somebody else.
func TestAnAgentThatIsBusyAfterALostAnswerWithOtherWork(t *testing.T) {
	var s *server
	var c *agent.Client
	s, c = listen(t, func(w http.ResponseWriter, r *http.Request, _ string) {
		switch {
		case r.Method == http.MethodGet:
			_, _ = io.WriteString(w, `{"commands": [`+strings.Replace(running, "execute_clean_step", "sync", 1)+`]}`)
		case posts(s) == 1:
			panic(http.ErrAbortHandler)
		default:
			w.WriteHeader(http.StatusConflict)
			_, _ = io.WriteString(w, `{"faultcode": "Client", "faultstring": "Agent is busy"}`)
		}
	})
	_, err := execute(t.Context(), c)
	require.ErrorIs(t, err, agent.ErrBusy)
	require.Equal(t, 2, posts(s))
}

func TestAnAgentThatIsBusyAfterALostAnswerExecutesTheCommand(t *testing.T) {
	var s *server
	var c *agent.Client
	s, c = listen(t, func(w http.ResponseWriter, r *http.Request, _ string) {
		switch {
		case posts(s) == 1: // neither this one nor the question that follows has an answer
			panic(http.ErrAbortHandler)
		case r.Method == http.MethodPost:
			w.WriteHeader(http.StatusConflict)
			_, _ = io.WriteString(w, `{"faultcode": "Client", "faultstring": "Agent is busy"}`)
		default:
			_, _ = io.WriteString(w, `{"commands": [`+running+`]}`)
		}
	})
	command, err := execute(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, agent.Running, command.Status)
	require.Equal(t, 2, posts(s))
}
