package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// patience says how often, and after which waits, to come again when Ironic
// refuses for now.
type patience struct {
	times       int           // in a row
	first, most time.Duration // the wait doubles from first up to most
	longest     time.Duration // what Ironic may ask for
}

// defaultPatience waits up to about four minutes in a row.
var defaultPatience = patience{times: 10, first: time.Second, most: 30 * time.Second, longest: 10 * time.Minute}

// wait returns how long to wait after an error, the first or a later one in a
// row. An error is that there is nothing to wait for. It never waits for a
// shorter time than Ironic asks for.
func (p patience) wait(err error, row int) (time.Duration, error) {
	var r *refusal
	switch {
	case !errors.As(err, &r) || !r.passes():
		return 0, err
	case row > p.times:
		return 0, fmt.Errorf("refused %d times in a row: %w", row, err)
	case r.after > p.longest:
		return 0, fmt.Errorf("asked to wait for %v, which is longer than %v: %w", r.after, p.longest, err)
	}
	wait := p.first
	for range row - 1 {
		wait = min(2*wait, p.most)
	}
	return max(wait, r.after), nil
}

// sleep waits, and returns the reason where the context ends first.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
