// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor/agent"
	"github.com/ironstate/ironstate/internal/heaptest"
	"github.com/ironstate/ironstate/internal/needs"
	"github.com/ironstate/ironstate/verify/secret"
)

// hostile returns an answer of 16 MiB that repeats a part in the result of a command.
func hostile(part string) string {
	const before, after = `{"commands": [{"command_name": "x", "command_status": "SUCCEEDED", "command_result": `, `}]}`
	room := 16<<20 - len(before) - len(after)
	if part == "" { // one text, as a config drive
		return before + `"` + strings.Repeat("a", room-2) + `"` + after
	}
	return before + "[" + strings.Repeat(part+",", room/(len(part)+1)-1) + part + "]" + after
}

// SECURITY.md: The answers of 120 agents at the same time need less than 256 MiB.
func TestTheAnswersOf120AgentsAtOnceNeedLessThan256MiB(t *testing.T) {
	needs.Time(t)
	const agents = 120
	longest := `"` + strings.Repeat("a", 16<<10) + `"`
	largest := `{"commands": [{"command_result": [` + strings.Repeat("[],", 9_900) + strings.Repeat(longest+",", 27) + `0]}]}`
	answers := []string{hostile(""), largest, hostile("[]"), hostile(`{"":{}}`), hostile(longest),
		hostile(`"` + strings.Repeat(`\u0001`, 20) + `"`)}
	var arrived sync.WaitGroup
	arrived.Add(agents)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		arrived.Done()
		arrived.Wait() // all are sent at once
		number, _ := strconv.Atoi(r.URL.Query().Get("agent_token"))
		_, _ = io.WriteString(w, answers[number%len(answers)])
	}))
	defer s.Close()
	budget := agent.NewBudget()
	kept := make([][]agent.Command, agents)
	failures := make([]error, agents)
	growth := heaptest.Growth(func() {
		var clients sync.WaitGroup
		for i := range agents {
			clients.Go(func() {
				c, err := agent.New(agent.Config{URL: s.URL, Token: secret.New(strconv.Itoa(i)), Budget: budget, Timeout: time.Hour, Attempts: 1})
				if err == nil {
					kept[i], err = c.Commands(t.Context())
				}
				failures[i] = err
			})
		}
		clients.Wait()
	})
	require.Less(t, growth, int64(256<<20))
	t.Logf("the heap grew by %d MiB", growth>>20)
	for i, err := range failures {
		switch i % len(answers) {
		case 0:
			require.NoError(t, err)
			require.Less(t, len(kept[i][0].Result), 17<<10)
		case 1:
			require.NoError(t, err)
			require.Greater(t, len(kept[i][0].Result), 460<<10)
		default:
			require.ErrorIs(t, err, agent.ErrAnswer)
		}
	}
}

func TestAnAnswerWaitsForItsTurnUntilItsContextEnds(t *testing.T) {
	const agents = 40
	release := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `{"commands": [], "x": ["`+strings.Repeat("x", 16<<10)+`"`)
		_ = http.NewResponseController(w).Flush()
		select {
		case <-release:
		case <-r.Context().Done():
		}
		_, _ = io.WriteString(w, `]}`)
	}))
	defer s.Close()
	budget := agent.NewBudget()
	stopped := errors.New("the work has ended")
	ctx, stop := context.WithCancelCause(t.Context())
	results := make(chan error, agents)
	for range agents { // 32 of them have a turn, the others wait
		c, err := agent.New(agent.Config{URL: s.URL, Budget: budget, Attempts: 1})
		require.NoError(t, err)
		go func() {
			_, err := c.Commands(ctx)
			results <- err
		}()
	}
	require.Eventually(t, func() bool { return budget.Turns() == 32 }, time.Minute, time.Millisecond)
	small := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"commands": []}`)
	}))
	defer small.Close()
	c, err := agent.New(agent.Config{URL: small.URL, Budget: budget})
	require.NoError(t, err)
	_, err = c.Commands(t.Context())
	require.NoError(t, err, "a small answer needs no turn")

	stop(stopped)
	for range agents {
		require.Equal(t, stopped, <-results)
	}
	close(release)
	c, err = agent.New(agent.Config{URL: s.URL, Budget: budget})
	require.NoError(t, err)
	_, err = c.Commands(t.Context())
	require.NoError(t, err, "all turns have ended")
}
