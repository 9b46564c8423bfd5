// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"slices"
	"time"
)

// A stream is one kind of request, sent at fixed intervals even if the previous request
// is not answered yet, as by many independent clients.
type stream struct {
	workload workload
	every    time.Duration
}

var streams = []stream{
	{workloads[show], 4 * time.Millisecond},
	{workloads[patch], 20 * time.Millisecond},
	{workloads[list], 200 * time.Millisecond},
}

// A span is a period of time.
type span struct{ from, to time.Time }

func (s span) took() time.Duration { return s.to.Sub(s.from) }

func (s span) overlaps(other span) bool { return s.from.Before(other.to) && other.from.Before(s.to) }

// A round is the period of a round of power sync.
type round = span

// sample sends the requests of all streams until the function until returns. It returns
// the period from each request to its answer, by stream.
func sample(ctx context.Context, s *seeded, until func(context.Context) error) ([][]span, error) {
	sampling, stop := context.WithCancel(ctx)
	defer stop()
	answers := make([][]span, len(streams))
	failures := make(chan error, len(streams))
	for i, stream := range streams {
		go func() {
			var err error
			answers[i], err = stream.run(ctx, sampling, s)
			failures <- err
		}()
	}
	err := until(ctx)
	stop()
	for range streams {
		err = errors.Join(err, <-failures)
	}
	return answers, err
}

// run sends requests until sampling ends, and waits for the last answer.
func (st stream) run(ctx, sampling context.Context, s *seeded) (answers []span, err error) {
	type outcome struct {
		span
		err error
	}
	outcomes := make(chan outcome)
	begun := 0
	ticks := time.NewTicker(st.every)
	defer ticks.Stop()
	for number := 0; sampling.Err() == nil || begun > 0; {
		select {
		case <-ticks.C:
			if sampling.Err() != nil {
				continue
			}
			begun++
			number++
			go func() {
				start := time.Now()
				err := st.workload.do(ctx, s, number)
				outcomes <- outcome{span{start, time.Now()}, err}
			}()
		case o := <-outcomes:
			begun--
			answers = append(answers, o.span)
			if err == nil {
				err = o.err
			}
		}
	}
	return answers, err
}

// latencies are percentiles of the latencies of a stream's requests.
type latencies struct {
	requests       int
	p50, p99, most time.Duration
}

// split returns the latencies outside of rounds and those during a round.
func split(answers [][]span, rounds []round) (quiet, busy []latencies) {
	for _, of := range answers {
		var outside, during []time.Duration
		for _, answer := range of {
			if slices.ContainsFunc(rounds, answer.overlaps) {
				during = append(during, answer.took())
			} else {
				outside = append(outside, answer.took())
			}
		}
		quiet = append(quiet, summary(outside))
		busy = append(busy, summary(during))
	}
	return quiet, busy
}

func summary(times []time.Duration) latencies {
	if len(times) == 0 {
		return latencies{}
	}
	slices.Sort(times)
	at := func(percent int) time.Duration { return times[(len(times)*percent+99)/100-1] }
	return latencies{len(times), at(50), at(99), at(100)}
}
