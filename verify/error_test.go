// SPDX-License-Identifier: Apache-2.0

package verify_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/verify"
)

func TestKindOf(t *testing.T) {
	wrapped := fmt.Errorf("wrapped: %w", &verify.Error{Kind: verify.Locked})
	for err, want := range map[error]verify.Kind{
		wrapped:                                 verify.Locked,
		&verify.Error{Kind: verify.Credentials}: verify.Credentials,
		fmt.Errorf("%w", context.DeadlineExceeded): verify.Timeout,
		context.Canceled:       verify.Cancelled,
		verify.Credentials:     verify.Credentials,
		errors.New("anything"): verify.Failed,
		nil:                    verify.Failed,
	} {
		require.Equal(t, want, verify.KindOf(err), err)
	}
}

func TestErrorsAboutALockedAccountAndALackingPermissionAlsoMatchRefusedCredentials(t *testing.T) {
	for kind := verify.Failed; kind <= verify.Panicked; kind++ {
		refused := kind == verify.Credentials || kind == verify.Locked || kind == verify.Forbidden
		require.Equal(t, refused, errors.Is(fmt.Errorf("wrapped: %w", &verify.Error{Kind: kind}), verify.Credentials), "%v", kind)
		require.Equal(t, kind == verify.Locked, errors.Is(kind, verify.Locked), "%v", kind)
		require.Equal(t, kind == verify.Forbidden, errors.Is(kind, verify.Forbidden), "%v", kind)
	}
}

func TestALoginIsRefusedUnlessTheUserLacksAPermissionAlone(t *testing.T) {
	for kind := verify.Failed; kind <= verify.Panicked; kind++ {
		err := &verify.Error{Kind: kind}
		require.Equal(t, kind == verify.Credentials || kind == verify.Locked, verify.LoginRefused(err), "%v", kind)
	}
	require.False(t, verify.LoginRefused(nil))
}

func TestKindsHaveTexts(t *testing.T) {
	require.Equal(t, "failed", verify.Failed.Error())
	require.Equal(t, "the verifier failed", verify.Panicked.Error())
	require.Equal(t, "not permitted", verify.Forbidden.Error())
	require.Equal(t, "Kind(12)", (verify.Panicked + 1).Error())
}
