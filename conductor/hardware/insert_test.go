// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package hardware

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/verify"
)

// lateMedia is a BMC that inserts no image, and whose reads take time and fail with an error, or at the end of their
// context.
type lateMedia struct {
	calls []string
	takes time.Duration
	err   error
	kept  error // of each ejection
	lost  error // of the insertion
}

func (m *lateMedia) VirtualMedia(ctx context.Context, _ *conductor.Node) ([]conductor.VirtualMedia, error) {
	select {
	case <-time.After(m.takes):
		return []conductor.VirtualMedia{{MediaTypes: []string{"CD"}}}, m.err
	case <-ctx.Done():
		return nil, errors.New("our own end")
	}
}

func (m *lateMedia) AttachVirtualMedia(_ context.Context, _ *conductor.Node, device, image string) error {
	m.calls = append(m.calls, "attach "+device+" "+image)
	return m.lost
}

func (m *lateMedia) DetachVirtualMedia(_ context.Context, _ *conductor.Node, devices []string) error {
	m.calls = append(m.calls, "detach "+devices[0])
	return m.kept
}

func TestAnImageThatABMCMayHaveInsertedIsEjected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plain := errors.New("connection reset") // by a media manager without package verify
		for lost, ejections := range map[error]int{
			plain: 2, verify.Failed: 2, verify.Timeout: 2, verify.Cancelled: 2, verify.Protocol: 2, verify.Panicked: 2,
			verify.Misconfigured: 1, verify.Unreachable: 1, verify.TLS: 1, verify.Unsupported: 1,
			verify.Credentials: 1, verify.Locked: 1, verify.Forbidden: 1, conductor.Invalid: 1, conductor.Unsupported: 1,
		} {
			m := &lateMedia{lost: lost}
			n := Node{Node: &conductor.Node{}, config: &Config{}}
			require.ErrorIs(t, mediaBoot{"media", m}.insert(t.Context(), n, "http://h/a.iso"), lost)
			require.Len(t, m.calls, 1+ejections, "%v", lost)
		}
	})
}

func TestNothingIsInsertedIfTheBMCDoesNotAnswerOrRefusesThePassword(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for kind, tried := range map[verify.Kind]bool{
			verify.Protocol: true, verify.Unsupported: true, verify.Failed: false, verify.Unreachable: false, verify.Timeout: false,
			verify.Cancelled: false, verify.TLS: false, verify.Credentials: false, verify.Locked: false,
		} {
			m := &lateMedia{kept: kind}
			n := Node{Node: &conductor.Node{}, config: &Config{}}
			err := mediaBoot{"media", m}.insert(t.Context(), n, "http://h/a.iso")
			require.Error(t, err)
			require.Equal(t, tried, len(m.calls) > 1, "%v", kind)
			if !tried {
				require.ErrorIs(t, err, kind)
			}
			require.ErrorIs(t, mediaBoot{"media", m}.eject(t.Context(), n), kind, "only an image that the BMC keeps fails no clean-up")
		}
		kept := &lateMedia{kept: ErrMediaKept, lost: errors.New("no image")} // by a media manager without package verify
		require.ErrorContains(t, mediaBoot{"media", kept}.insert(t.Context(), Node{Node: &conductor.Node{}}, "http://h/a.iso"), "no image")
		m := &lateMedia{kept: verify.Protocol}
		ended, end := context.WithCancel(t.Context())
		end()
		require.ErrorIs(t, mediaBoot{"media", &lateMedia{kept: ErrMediaKept}}.eject(ended, Node{Node: &conductor.Node{}}), ErrMediaKept)
		require.ErrorIs(t, mediaBoot{"media", m}.insert(ended, Node{Node: &conductor.Node{}}, "http://h/a.iso"), verify.Protocol)
		require.Equal(t, []string{"detach cdrom"}, m.calls)
	})
}

func TestAnImageThatIsNotInsertedInTimeIsEjectedAndTheErrorIsTheBMCs(t *testing.T) {
	for _, test := range []struct {
		takes time.Duration
		err   error
		want  string
	}{
		{0, nil, "the BMC has not inserted the image within 1m0s"},
		{7 * time.Second, nil, "the BMC has not inserted the image within 1m0s"},
		{7 * time.Second, errors.New("503 busy"), "the BMC has not inserted the image within 1m0s\n503 busy"},
		{time.Hour, nil, "the BMC has not inserted the image within 1m0s"},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := &lateMedia{takes: test.takes, err: test.err}
			n := Node{Node: &conductor.Node{}, config: &Config{MediaTimeout: time.Minute}}
			require.EqualError(t, mediaBoot{"media", m}.insert(t.Context(), n, "http://h/a.iso"), test.want)
			require.Equal(t, []string{"detach cdrom", "attach cdrom http://h/a.iso", "detach cdrom"}, m.calls)
		})
	}
}

// slowMedia is a BMC that inserts an image, and whose first reads after that fail.
type slowMedia struct {
	lateMedia
	failures []error
}

func (m *slowMedia) VirtualMedia(context.Context, *conductor.Node) ([]conductor.VirtualMedia, error) {
	if len(m.failures) == 0 {
		return []conductor.VirtualMedia{{MediaTypes: []string{"CD"}, Inserted: true}}, nil
	}
	err := m.failures[0]
	m.failures = m.failures[1:]
	return nil, err
}

func TestAWaitForAnImageEndsWithARefusedPasswordAndWithWhatDoesNotPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for kind := verify.Kind(0); !strings.HasPrefix(kind.Error(), "Kind("); kind++ {
			m := &slowMedia{failures: []error{kind, kind}}
			n := Node{Node: &conductor.Node{}, config: &Config{MediaTimeout: time.Minute}}
			err := mediaBoot{"media", m}.insert(t.Context(), n, "http://h/a.iso")
			switch kind {
			case verify.Credentials, verify.Locked, verify.TLS, verify.Misconfigured, verify.Panicked:
				require.ErrorIs(t, err, kind)
				require.Len(t, m.failures, 1)
				continue
			}
			require.NoError(t, err)
			require.Empty(t, m.failures)
		}
	})
}
