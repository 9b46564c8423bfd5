// SPDX-License-Identifier: Apache-2.0

package fence_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/fence"
)

func TestTheContextOfACallDecidesAboutEachRequest(t *testing.T) {
	require.NoError(t, fence.Check(context.Background()))

	var lost error
	var asked context.Context
	ctx := fence.With(context.Background(), func(ctx context.Context) error {
		asked = ctx
		return lost
	})
	derived, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Hour)
	defer cancel()
	require.NoError(t, fence.Check(derived))
	require.Equal(t, derived, asked)
	lost = errors.New("lost")
	require.Equal(t, lost, fence.Check(derived))
}
