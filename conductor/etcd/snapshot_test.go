// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// snapshots is an etcd that sends a snapshot.
type snapshots struct {
	clientv3.Maintenance
	content io.Reader
}

func (s snapshots) Snapshot(context.Context) (io.ReadCloser, error) {
	return io.NopCloser(s.content), nil
}

func TestABackupIsAWholeSnapshotOrAnError(t *testing.T) {
	broken := errors.New("no answer")
	whole := strings.Repeat("p", 2*512) + strings.Repeat("h", sha256.Size)
	for name, test := range map[string]struct {
		content io.Reader
		want    error
	}{
		"whole":                   {strings.NewReader(whole), nil},
		"without its hash":        {strings.NewReader(whole[:2*512]), io.ErrUnexpectedEOF},
		"without the end of one":  {strings.NewReader(whole[:len(whole)-1]), io.ErrUnexpectedEOF},
		"nothing":                 {strings.NewReader(""), io.ErrUnexpectedEOF},
		"a server that goes away": {io.MultiReader(strings.NewReader(whole[:512]), iotest.ErrReader(broken)), broken},
	} {
		t.Run(name, func(t *testing.T) {
			read := false
			s, _ := scripted(t, &server{get: func(op clientv3.Op) (*clientv3.GetResponse, error) {
				read = !op.IsSerializable()
				return &clientv3.GetResponse{}, nil
			}})
			s.client.Maintenance = snapshots{content: test.content}
			var out bytes.Buffer
			err := s.Backup(t.Context(), &out)
			require.True(t, read, "the server has then applied each write that has returned")
			require.ErrorIs(t, err, test.want)
			if err == nil {
				require.Equal(t, whole, out.String())
			}
		})
	}
}
