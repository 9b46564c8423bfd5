// SPDX-License-Identifier: Apache-2.0

// Package kit checks an implementation of an interface promise by promise, for the kits that check what others
// have written.
package kit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ironstate/ironstate/internal/boundedcall"
)

// Promise is a promise and its check, which returns why the promise is broken.
type Promise struct {
	Name  string
	Check func(context.Context) error
}

// Check checks promises in their order and returns an error that lists the broken ones by name, or nil. The context of
// a check ends when its patience has run out. A check that does not return after that is abandoned. After a check that
// has failed in this way no other is tried, since each of them would probably wait for as long: the error says so.
func Check(patience time.Duration, all []Promise) error {
	var errs []error
	for i, p := range all {
		late, err := run(patience, p.Check)
		if err == nil {
			continue
		}
		errs = append(errs, fmt.Errorf("%s: %w", p.Name, err))
		if untried := len(all) - i - 1; late && untried > 0 {
			errs = append(errs, fmt.Errorf("the check ends with the promise %q, which took longer than %v: the %d promises after it were not tried",
				p.Name, patience, untried))
			break
		}
	}
	return errors.Join(errs...)
}

// run runs a check. It reports whether the check ran out of patience.
func run(patience time.Duration, check func(context.Context) error) (late bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_, err = boundedcall.Do(ctx, patience, func(ctx context.Context) (struct{}, error) { return struct{}{}, check(ctx) })
	late = ctx.Err() != nil
	var panicked *boundedcall.PanicError
	switch abandoned := (*boundedcall.AbandonedError)(nil); {
	case errors.As(err, &abandoned):
		err = fmt.Errorf("a method did not return within %v after its context had ended", patience)
	case errors.As(err, &panicked) && panicked.Value != nil:
		err = fmt.Errorf("it panicked: %v\n%s", panicked.Value, panicked.Stack)
	}
	return late, err
}
