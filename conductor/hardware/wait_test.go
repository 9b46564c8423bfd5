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
	"github.com/ironstate/ironstate/verify/bmc"
)

func TestAWaitEndsWithARefusedPasswordAndWithWhatDoesNotPass(t *testing.T) {
	errs := []error{nil, io.EOF, context.Canceled, context.DeadlineExceeded, conductor.Invalid, errors.Join(io.EOF, verify.Unreachable)}
	for kind := verify.Kind(0); !strings.HasPrefix(kind.Error(), "Kind("); kind++ {
		errs = append(errs, &verify.Error{Kind: kind})
	}
	var refusals, lasting []verify.Kind
	for _, err := range errs {
		kind, refuses, lasts := verify.Failed, false, false
		if err != nil {
			kind = verify.KindOf(err)
		}
		switch kind {
		case verify.Credentials, verify.Locked:
			refuses, refusals = true, append(refusals, kind)
		case verify.TLS, verify.Misconfigured, verify.Panicked:
			lasts, lasting = true, append(lasting, kind)
		}
		for _, test := range []struct{ restarts, refused, ends bool }{
			{false, false, true}, {false, true, true}, {true, false, false}, {true, true, true},
		} {
			w := wait{restarts: test.restarts, refused: test.refused}
			lasts := lasts && !(test.restarts && kind == verify.TLS)
			require.Equal(t, lasts || refuses && test.ends, w.ends(err), "%+v: %v", test, err)
			require.Equal(t, refuses, w.refused, "%+v: %v", test, err)
		}
	}
	require.Equal(t, []verify.Kind{verify.Credentials, verify.Locked}, refusals)
	require.Equal(t, []verify.Kind{verify.Misconfigured, verify.TLS, verify.Panicked}, lasting)
}

func TestNoMachineIsRebootedForABootSettingThatCannotBeReadAtAll(t *testing.T) {
	reboots := errors.New("the machine is rebooted")
	b := redfishManagement{bmcManagement{&bmcs{parse: func(info) (bmc.Config, error) { return bmc.Config{}, reboots }}}}
	errs := map[error]bool{nil: true, io.EOF: false, context.Canceled: false, conductor.Invalid: false}
	for kind := verify.Kind(0); !strings.HasPrefix(kind.Error(), "Kind("); kind++ {
		errs[kind] = kind == verify.Unreachable || kind == verify.Timeout || kind == verify.Protocol
	}
	for err, mayPass := range errs {
		for _, now := range []string{"", "bios", "uefi"} {
			want := err
			if mayPass && (err != nil || now == "bios") {
				want = reboots
			}
			got := b.awaitSetting(t.Context(), &conductor.Node{}, "boot mode", "uefi", func() (string, error) { return now, err })
			require.Equal(t, want, got, "%q: %v", now, err)
		}
	}
}
