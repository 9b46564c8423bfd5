// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package storetest_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/powersync/storetest"
)

func TestAStoreThatHangsIsNamedByThePromiseThatItBreaks(t *testing.T) {
	for kind, hang := range map[string]struct {
		until func(context.Context, chan struct{})
		says  string
	}{
		"until the context ends": {
			func(ctx context.Context, _ chan struct{}) { <-ctx.Done() }, "context deadline exceeded",
		},
		"longer": {
			func(_ context.Context, end chan struct{}) { <-end }, "a method did not return within 1m0s after its context had ended",
		},
	} {
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				end := make(chan struct{})
				defer close(end)
				err := storetest.Check(func(records ...powersync.Record) (powersync.Store, error) {
					b := &broken{Memory: memory(records)}
					b.update = func(ctx context.Context, _ powersync.Record) error {
						hang.until(ctx, end)
						return ctx.Err()
					}
					return b, nil
				})
				require.ErrorContains(t, err, "a range may end early: ")
				require.ErrorContains(t, err, hang.says)
				require.ErrorContains(t, err, "were not tried")
			})
		})
	}
}
