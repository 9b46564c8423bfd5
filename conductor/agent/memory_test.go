// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"runtime"
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

// answers returns one answer of each kind that needs much memory. The client keeps much of the first two.
func answers() []string {
	longest := `"` + strings.Repeat("a", 16<<10) + `"`
	largest := `{"commands": [{"command_result": [` + strings.Repeat("[],", 9_900) + strings.Repeat(longest+",", 27) + `0]}]}`
	return []string{hostile(""), largest, hostile("[]"), hostile(`{"":{}}`), hostile(longest),
		hostile(`"` + strings.Repeat(`\u0001`, 20) + `"`)}
}

// TestTheAnswersInTurnAllocateLessThan256MiB adds up the bytes that 32 answers in turn allocate, and those of the 88
// answers that wait. The bytes include those that the collector frees before the end, and the server's.
//
// SECURITY.md: The answers of 120 agents at the same time need less than 256 MiB.
func TestTheAnswersInTurnAllocateLessThan256MiB(t *testing.T) {
	const agents, turns, untilTurn = 120, 32, 16 << 10
	waits := `{"commands": [], "x": "` + strings.Repeat("x", untilTurn-40) + `"}`
	most := map[bool]uint64{} // of those with a turn, and of those without
	for _, answer := range append(answers(), waits) {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, answer) }))
		allocated := uint64(math.MaxUint64)
		for range 3 {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			c, err := agent.New(agent.Config{URL: s.URL, Attempts: 1})
			require.NoError(t, err)
			_, _ = c.Commands(t.Context())
			runtime.ReadMemStats(&after)
			allocated = min(allocated, after.TotalAlloc-before.TotalAlloc)
		}
		s.Close()
		t.Logf("%.60s: %d KiB", answer, allocated>>10)
		inTurn := len(answer) > untilTurn
		most[inTurn] = max(most[inTurn], allocated)
	}
	require.Len(t, most, 2)
	require.Less(t, turns*most[true]+(agents-turns)*most[false], uint64(256<<20))
}

// SECURITY.md: The answers of 120 agents at the same time need less than 256 MiB.
func TestTheAnswersOf120AgentsAtOnceNeedLessThan256MiB(t *testing.T) {
	needs.Chance(t)
	const agents = 120
	answers := answers()
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
		c, err := agent.New(agent.Config{URL: s.URL, Budget: budget, Timeout: time.Hour, Attempts: 1})
		require.NoError(t, err)
		go func() {
			_, err := c.Commands(ctx)
			results <- err
		}()
	}
	for budget.Turns() < 32 {
		time.Sleep(time.Millisecond)
	}
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
