// SPDX-License-Identifier: Apache-2.0

// With the race detector each call allocates more.
//go:build !race

package agent_test

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
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

// answers returns one answer of each kind that needs much memory. The client refuses all but the first.
func answers() []string {
	longest := `"` + strings.Repeat("a", 16<<10) + `"`
	largest := `{"commands": [{"command_result": [` + strings.Repeat("[],", 9_900) + strings.Repeat(longest+",", 27) + `0]}]}`
	return []string{hostile(""), largest, hostile("[]"), hostile(`{"":{}}`), hostile(longest),
		hostile(`"` + strings.Repeat(`\u0001`, 20) + `"`)}
}

// fewest makes three calls, and returns the number of bytes that the call with the fewest allocates. It counts the
// bytes that the collector frees during the call, and the bytes that the server allocates.
func fewest(call func()) uint64 {
	allocated := uint64(math.MaxUint64)
	for range 3 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		call()
		runtime.ReadMemStats(&after)
		allocated = min(allocated, after.TotalAlloc-before.TotalAlloc)
	}
	return allocated
}

// copyOf returns deep copies of a client's results. What the copying allocates is the size of the results.
func copyOf(commands []agent.Command, steps agent.Steps) (any, any) {
	commands = slices.Clone(commands)
	for i, c := range commands {
		commands[i] = agent.Command{ID: strings.Clone(c.ID), Name: strings.Clone(c.Name), Status: agent.Status(strings.Clone(string(c.Status))),
			Error: slices.Clone(c.Error), Result: slices.Clone(c.Result)}
	}
	steps.Steps, steps.Versions = slices.Clone(steps.Steps), copyOfValue(steps.Versions).(map[string]any)
	for i := range steps.Steps {
		s := &steps.Steps[i]
		s.StepName = agent.StepName{Interface: strings.Clone(s.Interface), Step: strings.Clone(s.Step)}
		infos := map[string]agent.Info{}
		for name, info := range s.ArgsInfo {
			infos[strings.Clone(name)] = agent.Info{Description: strings.Clone(info.Description), Required: info.Required}
		}
		s.ArgsInfo = infos
	}
	return commands, steps
}

func copyOfValue(v any) any {
	switch v := v.(type) {
	case map[string]any:
		object := map[string]any{}
		for key, value := range v {
			object[strings.Clone(key)] = copyOfValue(value)
		}
		return object
	case []any:
		list := make([]any, len(v))
		for i, value := range v {
			list[i] = copyOfValue(value)
		}
		return list
	case json.Number:
		return json.Number(strings.Clone(string(v)))
	default:
		return v
	}
}

// largestSteps returns an answer with steps as large as may be: in number, in texts, and in values of the versions.
func largestSteps(texts int) string {
	var list []string
	for i := range 250 {
		const step = `{"interface": "deploy", "step": "s%d", "priority": 1, "argsinfo": {"a": {}, "b": {}, "c": {}, "%s": {}}}`
		list = append(list, fmt.Sprintf(step, i, strings.Repeat("d", texts)))
	}
	return `{"command_status": "SUCCEEDED", "command_result": {"hardware_manager_version": {"v": [` + strings.Repeat(`{"":0},`, 48) +
		`0]}, "clean_steps": {"M": [` + strings.Join(list, ",") + `]}}}`
}

// All workers of a conductor may hold an answer of an agent at the same time. The turns bound how many answers are read
// and decoded; every other worker holds a decoded answer only.
//
// SECURITY.md: The answers of agents need less than 128 MiB.
func TestTheAnswersToAllWorkersTakeLessThan128MiB(t *testing.T) {
	const workers, untilTurn = 300, 16 << 10
	fill := func(before, after string, n int) string {
		return before + strings.Repeat("x", n-len(before)-len(after)) + after
	}
	answers := append(answers(), fill(`{"commands": [], "x": "`, `"}`, untilTurn-1), largestSteps(250), largestSteps(1),
		`{"commands": [`+strings.Repeat(`{"command_name": "`+strings.Repeat("n", 470)+`"},`, 250)+`{}]}`,
		`{"command_status": "SUCCEEDED", "command_result": {"hardware_manager_version": {}, "clean_steps": {"M": [`+
			strings.Repeat(`{"interface":"a","step":"b","priority":1},`, 380)+`{}]}}}`)
	var turn, reading, decoding, kept uint64 // the most bytes of an answer with a turn, without one, of its steps, and afterwards
	for _, answer := range answers {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, answer) }))
		c, err := agent.New(agent.Config{URL: s.URL, Attempts: 1})
		require.NoError(t, err)
		var commands []agent.Command
		var steps agent.Steps
		listed := fewest(func() { commands, _ = c.Commands(t.Context()) })
		sent := fewest(func() { _ = c.Sync(t.Context()) })
		decoded := fewest(func() { steps, _ = c.Steps(t.Context(), agent.Clean, agent.Machine{}) })
		keeps := fewest(func() { copies[0], copies[1] = copyOf(commands, steps) })
		s.Close()
		t.Logf("%.60s (%d KiB): %d KiB in Commands, %d KiB in Sync, %d KiB in Steps, %d KiB are kept",
			answer, len(answer)>>10, listed>>10, sent>>10, decoded>>10, keeps>>10)
		decoding, kept = max(decoding, decoded), max(kept, keeps)
		if len(answer) < untilTurn {
			reading = max(reading, listed, sent)
		} else {
			turn = max(turn, listed, sent)
		}
	}
	turns := uint64(agent.NewBudget().MaxTurns())
	most := turns*turn + decoding + (workers-turns)*max(reading, kept)
	t.Logf("%d KiB in turn, %d KiB without, %d KiB are decoded, %d KiB are kept: %d MiB",
		turn>>10, reading>>10, decoding>>10, kept>>10, most>>20)
	require.Less(t, most, uint64(128<<20))
}

// copies keeps values from being optimized away.
var copies [2]any

// SECURITY.md: The answers of agents need less than 128 MiB.
func TestTheAnswersOf300AgentsAtOnceNeedLessThan128MiB(t *testing.T) {
	needs.Chance(t)
	const agents = 300
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
	require.Less(t, growth, int64(128<<20))
	t.Logf("the heap grew by %d MiB", growth>>20)
	for i, err := range failures {
		switch i % len(answers) {
		case 0:
			require.NoError(t, err)
			require.Less(t, len(kept[i][0].Result), 17<<10)
		default:
			require.ErrorIs(t, err, agent.ErrAnswer)
		}
	}
}
