// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestARoundTellsThatTheNodesCannotBeListed(t *testing.T) {
	c, err := New(Config{Store: &Memory{}, Hardware: map[string]Hardware{"fake-hardware": &Fake{}}})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // before the index of the nodes is complete
	var errs []error
	for _, err := range (powerRounds{c.engine}).Records(ctx) {
		errs = append(errs, err)
	}
	require.Len(t, errs, 1)
	require.ErrorIs(t, errs[0], context.Canceled)
}
