// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
)

// The servers of a Store without a server in this process are remote.
func TestReadsOfRemoteServersOutliveAChangeOfTheLeader(t *testing.T) {
	synctest.Test(t, readsOutliveAChangeOfTheLeader)
}

func readsOutliveAChangeOfTheLeader(t *testing.T) {
	calls := 0
	got, err := retryRead(t.Context(), &Store{}, func() (int, error) {
		if calls++; calls < 3 {
			return 0, rpctypes.ErrLeaderChanged
		}
		return calls, nil
	})
	require.NoError(t, err)
	require.Equal(t, 3, got)

	other := errors.New("another error")
	_, err = retryRead(t.Context(), &Store{}, func() (int, error) { return 0, other })
	require.ErrorIs(t, err, other)

	ctx, cancel := context.WithCancel(t.Context())
	_, err = retryRead(ctx, &Store{}, func() (int, error) { cancel(); return 0, rpctypes.ErrLeaderChanged })
	require.ErrorIs(t, err, context.Canceled)
}
