// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package schedules_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/leaks"
	"github.com/ironstate/ironstate/internal/schedules"
)

func TestMain(m *testing.M) { leaks.Main(m) }

// counters is a run of processes that each read a counter and store it with one more.
type counters struct {
	*schedules.Gate
	values map[string]int // by the name of the counter
	waits  time.Duration  // how long a process waits; 0 for ever
	over   bool
}

// start returns a function that starts processes by their counters.
func start(faults int, waits time.Duration, processes map[string]string, check func(*counters)) func(*testing.T) schedules.Run {
	return func(*testing.T) schedules.Run {
		c := &counters{Gate: schedules.NewGate(faults), values: map[string]int{}, waits: waits}
		c.Apply(schedules.Choice{Do: func() {
			for process, counter := range processes {
				c.Go(process, func() string { return fmt.Sprint(c.increment(process, counter)) })
			}
		}})
		return checked{c, check}
	}
}

func (c *counters) increment(process, counter string) error {
	ctx := context.Background()
	if c.waits > 0 {
		limited, cancel := context.WithTimeout(ctx, c.waits)
		defer cancel()
		ctx = limited
	}
	value := 0
	err := c.Call(ctx, &schedules.Call{By: process, Name: "read", Object: counter, Hangs: true, Do: func() (string, error) {
		value = c.values[counter]
		return fmt.Sprint(value), nil
	}})
	if err != nil {
		return err
	}
	return c.Call(ctx, &schedules.Call{By: process, Name: "write", Object: counter, Writes: true, Do: func() (string, error) {
		c.values[counter] = value + 1
		return "", nil
	}})
}

func (c *counters) Choices() []schedules.Choice {
	all := append(c.Done(), c.Faulty()...)
	if c.Waiting() && c.Faults() > 0 {
		all = append(all, schedules.Choice{Name: schedules.Passes, Fault: true, Do: func() { c.Pass(time.Hour) }})
	}
	if !c.Waiting() {
		all = append(all, schedules.Choice{Name: schedules.Passes, Do: func() { c.over = c.Pass(time.Hour) }})
	}
	return all
}

func (c *counters) Key() uint64    { return c.Gate.Key(c.values) }
func (c *counters) Over() bool     { return c.over }
func (c *counters) Ending() string { return fmt.Sprint(c.values) }
func (c *counters) Close()         { c.Gate.Close() }

type checked struct {
	*counters
	check func(*counters)
}

func (c checked) CheckEnd() { c.check(c.counters) }

func isTwo(c *counters) {
	if c.values["x"] != 2 {
		c.Fail("x is %d", c.values["x"])
	}
}

func search(t *testing.T, start func(*testing.T) schedules.Run, unreduced bool) *schedules.Search {
	s := &schedules.Search{T: t, Start: start, Unreduced: unreduced}
	s.Explore()
	return s
}

func TestASearchFindsTheScheduleThatLosesAnUpdate(t *testing.T) {
	begin := start(0, 0, map[string]string{"a": "x", "b": "x"}, isTwo)
	s := search(t, begin, false)
	require.Equal(t, "x is 1", s.Failure)
	require.False(t, s.Complete)
	choices, failure := schedules.Shrink(t, begin, s.Failed, s.Failure)
	require.Equal(t, "x is 1", failure)
	require.Equal(t, []string{"a: read", "b: read", "a: write", "b: write", schedules.Passes}, choices)
	taken, failure := schedules.Repeat(t, begin, []string{"a: read", "a: write", "none", "b: read"})
	require.Empty(t, failure)
	require.Equal(t, []string{"a: read", "a: write", "b: read", "b: write", schedules.Passes}, taken)
}

// TestASearchRefusesARunThatCannotBeRepeated ends the second run, or renames a choice of it, after a choice that both
// have.
func TestASearchRefusesARunThatCannotBeRepeated(t *testing.T) {
	for how, failure := range map[string]string{
		"over":    "a repeated schedule ends earlier than before: ",
		"renamed": "a repeated schedule offers\na: write again\nb: read\nand has offered\na: write\nb: read",
	} {
		begin, runs := start(0, 0, map[string]string{"a": "x", "b": "x"}, func(*counters) {}), 0
		s := search(t, func(t *testing.T) schedules.Run {
			runs++
			return strange{begin(t).(checked), map[bool]string{true: how}[runs > 1]}
		}, true)
		require.Equal(t, failure, s.Failure)
		require.Equal(t, []string{"a: read"}, s.Failed)
		require.False(t, s.Complete)
	}
}

// strange is a run that is not like the one before: it is over, or a choice has another name, when a has read.
type strange struct {
	checked
	how string
}

func (r strange) hasRead() bool {
	return r.counters.Choices()[0].Name == "a: write"
}

func (r strange) Over() bool { return r.counters.Over() || r.how == "over" && r.hasRead() }

func (r strange) Choices() []schedules.Choice {
	all := r.counters.Choices()
	if r.how == "renamed" && r.hasRead() {
		all[0].Name += " again"
	}
	return all
}

func TestAReducedSearchSeesEachState(t *testing.T) {
	nothing := func(*counters) {}
	for _, test := range []struct {
		faults    int
		processes map[string]string
		endings   int
	}{
		{0, map[string]string{"a": "x", "b": "y"}, 1},
		{0, map[string]string{"a": "x", "b": "x"}, 2},
		{1, map[string]string{"a": "x", "b": "y"}, 4},
		{1, map[string]string{"a": "x", "b": "x", "c": "y"}, 6},
	} {
		reduced := search(t, start(test.faults, time.Minute, test.processes, nothing), false)
		all := search(t, start(test.faults, time.Minute, test.processes, nothing), true)
		require.True(t, reduced.Complete)
		require.Equal(t, all.Endings, reduced.Endings)
		require.Len(t, reduced.Endings, test.endings, "%v", reduced.Endings)
		require.Len(t, reduced.Seen, len(all.Seen), "%v\n%v", reduced, all)
		require.Less(t, reduced.Schedules, all.Schedules)
		require.Contains(t, reduced.String(), ", complete, in ")
	}
}

// TestACallMayFailInEachWay checks what the caller of a call sees, and whether it was done.
func TestACallMayFailInEachWay(t *testing.T) {
	for choice, want := range map[string]struct {
		err  error
		done bool
	}{
		"a: call":                            {nil, true},
		"a: call, fails":                     {schedules.ErrCut, false},
		"a: call, not answered":              {schedules.ErrCut, true},
		"a: call, answered and not done":     {nil, false},
		"a: call, hangs":                     {schedules.ErrCut, false},
		schedules.Passes:                     {context.DeadlineExceeded, false},
		schedules.Passes + " a: call, late":  {context.DeadlineExceeded, true},
		"a: call, hangs a: call, late":       {nil, true},
		"a dies":                             {schedules.ErrCut, false},
		"a dies a: call, late":               {schedules.ErrCut, true},
		"a: call, hangs " + schedules.Passes: {schedules.ErrCut, false},
	} {
		t.Run(choice, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, done := schedules.NewGate(1), false
				var err error
				ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
				defer cancel()
				g.Go("a", func() string {
					err = g.Call(ctx, &schedules.Call{By: "a", Name: "call", Object: "x", Writes: true, Undone: true, Hangs: true,
						Do: func() (string, error) { done = true; return "", nil }})
					return ""
				})
				synctest.Wait()
				for choice != "" {
					all := append(append(g.Done(), g.Faulty()...), schedules.Choice{Name: schedules.Passes, Do: func() { g.Pass(time.Hour) }},
						schedules.Choice{Name: "a dies", Do: func() { g.Kill("a") }})
					took := schedules.Choice{}
					for _, c := range all {
						if len(c.Name) > len(took.Name) && len(choice) >= len(c.Name) && choice[:len(c.Name)] == c.Name {
							took = c
						}
					}
					require.NotEmpty(t, took.Name, choice)
					g.Apply(took)
					choice = choice[min(len(choice), len(took.Name)+1):]
				}
				g.Close()
				synctest.Wait()
				require.ErrorIs(t, err, want.err)
				require.Equal(t, want.done, done)
			})
		})
	}
}

func TestAnOpenGateLetsCallsGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := schedules.NewGate(0)
		call := func(err error) error {
			return g.Call(context.Background(), &schedules.Call{By: "a", Name: "call", Do: func() (string, error) { return "", err }})
		}
		var before error
		g.Go("a", func() string { before = call(nil); return "" })
		synctest.Wait()
		require.True(t, g.Waiting())
		require.Equal(t, 0, g.Returned("a"))
		g.Open()
		require.ErrorIs(t, before, schedules.ErrCut)
		require.Equal(t, 1, g.Returned("a"))
		require.False(t, g.Waiting())
		other := errors.New("other")
		require.Equal(t, other, call(other))
		ended, end := context.WithCancel(context.Background())
		end()
		require.Equal(t, context.Canceled, g.Call(ended, &schedules.Call{By: "a"}))
		g.Close()
	})
}

func TestTheOrderOfFailuresDoesNotMatter(t *testing.T) {
	var f schedules.Failures
	require.Empty(t, f.Failure())
	for _, text := range []string{"b", "a", "c", "a"} {
		f.Fail("%s", text)
	}
	require.Equal(t, "a; b; c", f.Failure())
}

func TestAChoiceDependsOnWhatItSharesWithAnother(t *testing.T) {
	for _, test := range []struct {
		a, b        schedules.Access
		independent bool
	}{
		{schedules.Access{"x": true}, schedules.Access{"y": true}, true},
		{schedules.Access{"x": false}, schedules.Access{"x": false}, true},
		{schedules.Access{"x": true}, schedules.Access{"x": false}, false},
		{schedules.Access{"x": true}, schedules.Access{"x": true}, false},
		{schedules.Access{schedules.Everything: true}, schedules.Access{"y": true}, false},
	} {
		require.Equal(t, test.independent, test.a.Independent(test.b))
		require.Equal(t, test.independent, test.b.Independent(test.a))
	}
	a := schedules.Access{}
	a.Touch("x", true)
	a.Touch("x", false)
	require.Equal(t, schedules.Access{"x": true}, a)
}
