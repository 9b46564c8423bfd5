// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ironstate/ironstate/conductor"
)

// endedBy returns a context that has ended with a cause.
func endedBy(t *testing.T, cause error) context.Context {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	return ctx
}

func TestAnErrorOfAWriteNamesItsReason(t *testing.T) {
	closing, another := endedBy(t, ErrClosed), endedBy(t, errors.New("a caller's cause"))
	slow := fmt.Errorf("etcd has not answered: %w", context.Canceled)
	other, busy := errors.New("another error"), status.Error(codes.ResourceExhausted, "ENHANCE_YOUR_CALM")
	tooLarge := &TooLargeError{Kind: "nodes", ID: "a", Size: 2}
	for name, test := range map[string]struct {
		ctx  context.Context
		err  error
		want error
	}{
		"none":                          {t.Context(), nil, nil},
		"another error":                 {t.Context(), other, other},
		"no space":                      {t.Context(), rpctypes.ErrNoSpace, ErrNoSpace},
		"too large for the server":      {t.Context(), rpctypes.ErrRequestTooLarge, tooLarge},
		"too large for the client":      {t.Context(), status.Error(codes.ResourceExhausted, "message larger than max"), tooLarge},
		"busy":                          {t.Context(), busy, busy},
		"closed":                        {closing, other, ErrClosed},
		"closed during a large request": {closing, rpctypes.ErrRequestTooLarge, ErrClosed},
		"the caller's end":              {another, other, context.Canceled},
		"the end of the time":           {endedBy(t, slow), other, slow},
		"the loss of the majority":      {endedBy(t, ErrNoMajority), other, doubtfulError{}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, test.want, writeFailure(test.ctx, conductor.Record{Kind: "nodes", ID: "a", Value: []byte("{}")}, test.err))
		})
	}
}

func TestServersThatAreUnavailableForATimeAreRecognized(t *testing.T) {
	for err, want := range map[error]bool{
		rpctypes.ErrNoLeader:                            true,
		rpctypes.ErrGRPCNoLeader:                        true,
		status.Error(codes.Unavailable, "no route"):     true,
		status.Error(codes.PermissionDenied, "refused"): false,
		rpctypes.ErrPermissionDenied:                    false,
		errors.New("another error"):                     false,
	} {
		require.Equal(t, want, isUnavailable(err), "%v", err)
		require.Equal(t, want, isUnavailable(fmt.Errorf("read: %w", err)), "%v", err)
	}
}

func TestAWatchEndsByAnErrorThatLasts(t *testing.T) {
	for err, want := range map[error]bool{
		ErrClosed:                                        true,
		fmt.Errorf("decode a: %w", errFormat):            true,
		rpctypes.ErrPermissionDenied:                     true,
		rpctypes.ErrInvalidAuthToken:                     true,
		status.Error(codes.Unimplemented, "an old etcd"): true,
		rpctypes.ErrNoLeader:                             false,
		errors.New("another error"):                      false,
	} {
		require.Equal(t, want, lasts(err), "%v", err)
	}
}

func TestAnErrorOfOpenNamesTheLastFailureOfTheServers(t *testing.T) {
	other := errors.New("permission denied")
	refused := status.Error(codes.Unavailable, "connection refused")
	for _, test := range []struct {
		last, err error
		want      string
	}{
		{nil, context.DeadlineExceeded, "context deadline exceeded"},
		{nil, other, "permission denied"},
		{refused, context.DeadlineExceeded, "context deadline exceeded: connection refused"},
		{refused, context.Canceled, "context canceled: connection refused"},
		{refused, other, "permission denied"},
	} {
		var last lastFailure
		if test.last != nil {
			last.err.Store(&test.last)
		}
		err := last.explain(test.err)
		require.EqualError(t, err, test.want)
		require.ErrorIs(t, err, test.err)
	}
}
