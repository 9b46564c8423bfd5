// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/verify"
)

func TestAWaitEndsWithARefusedPasswordAlone(t *testing.T) {
	errs := []error{nil, io.EOF, context.Canceled, context.DeadlineExceeded, conductor.Invalid, errors.Join(io.EOF, verify.Unreachable)}
	for kind := verify.Kind(0); !strings.HasPrefix(kind.Error(), "Kind("); kind++ {
		errs = append(errs, &verify.Error{Kind: kind})
	}
	var refusals []verify.Kind
	for _, err := range errs {
		refuses := errors.Is(err, verify.Locked) || err != nil && verify.KindOf(err) == verify.Credentials
		if refuses {
			refusals = append(refusals, verify.KindOf(err))
		}
		for _, test := range []struct{ restarts, refused, ends bool }{
			{false, false, true}, {false, true, true}, {true, false, false}, {true, true, true},
		} {
			w := wait{restarts: test.restarts, refused: test.refused}
			require.Equal(t, refuses && test.ends, w.ends(err), "%+v: %v", test, err)
			require.Equal(t, refuses, w.refused, "%+v: %v", test, err)
		}
	}
	require.Equal(t, []verify.Kind{verify.Credentials, verify.Locked}, refusals)
}
