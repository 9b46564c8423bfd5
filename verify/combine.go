package verify

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ironstate/ironstate/states"
)

// WithTimeout returns a Verifier that asks v for at most limit, which must be
// positive: one that is not is [Misconfigured].
func WithTimeout(v Verifier, limit time.Duration) Verifier {
	return Func(func(ctx context.Context) (states.Power, error) {
		if limit <= 0 {
			err := fmt.Errorf("the timeout %v is not positive", limit)
			return states.NoPower, &Error{Kind: Misconfigured, Err: err}
		}
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		return v.Verify(ctx)
	})
}

// Backoff says how often an unreachable BMC is asked, and how long is waited in
// between.
type Backoff struct {
	Tries int           // at most; below 1 is 1
	First time.Duration // the first wait; each next one is twice as long
	Most  time.Duration // no wait is longer; 0 is no bound
}

// wait returns how long is waited after a number of tries.
func (b Backoff) wait(tries int) time.Duration {
	wait := max(b.First, 0)
	for range tries - 1 {
		if doubled := wait * 2; doubled > wait && (b.Most <= 0 || wait < b.Most) {
			wait = doubled
		}
	}
	if b.Most > 0 {
		wait = min(wait, b.Most)
	}
	return wait
}

// WithRetry returns a Verifier that asks v again while it finds its BMC
// [Unreachable], and for no other reason: a BMC that refuses a password once
// would only count the next attempt.
func WithRetry(v Verifier, backoff Backoff) Verifier {
	return Func(func(ctx context.Context) (states.Power, error) {
		for tries := 1; ; tries++ {
			power, err := v.Verify(ctx)
			if tries >= backoff.Tries || !errors.Is(err, Unreachable) {
				return power, err
			}
			wait := time.NewTimer(backoff.wait(tries))
			select {
			case <-wait.C:
			case <-ctx.Done():
				wait.Stop()
				return power, err
			}
		}
	})
}

// Limit bounds how many Verifiers ask at once, such as all those of one BMC
// network. Make it with [NewLimit]. It is safe for concurrent use.
type Limit struct {
	slots chan struct{}
}

// NewLimit returns a limit of n; below 1 is 1.
func NewLimit(n int) *Limit { return &Limit{make(chan struct{}, max(n, 1))} }

// Verifier returns a Verifier that waits for its turn before it asks v.
func (l *Limit) Verifier(v Verifier) Verifier {
	return Func(func(ctx context.Context) (states.Power, error) {
		select {
		case l.slots <- struct{}{}:
		case <-ctx.Done():
			return states.NoPower, &Error{Kind: KindOf(ctx.Err()), Err: fmt.Errorf("waiting for a turn: %w", ctx.Err())}
		}
		defer func() { <-l.slots }()
		return v.Verify(ctx)
	})
}
