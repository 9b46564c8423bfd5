// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// Backup writes a snapshot of etcd's whole database to w. Reads and writes continue. The
// format is the same as from `etcdctl snapshot save`; Restore of package embedded and `etcdutl snapshot restore` read
// it. The snapshot of a server in this process contains every write that had returned before the call. The snapshot of
// another cluster is taken from one server, which may lack the last writes; etcd's user needs the role root there. The
// file contains the passwords of BMCs in plain text.
//
// The error is [ErrClosed], the writer's, or etcd's; the output is then not a valid backup.
func (s *Store) Backup(ctx context.Context, w io.Writer) error {
	if err := s.backup(ctx, w); err != nil {
		return fmt.Errorf("back up etcd: %w", err)
	}
	return nil
}

func (s *Store) backup(ctx context.Context, w io.Writer) error {
	ctx, done, err := s.beginWatch(ctx) // not begin, since a backup may take long
	if err != nil {
		return err
	}
	defer done()
	// After a linearizable read the server has applied all writes that have returned.
	if _, err := s.client.Get(ctx, s.layout.prefix+"/v1/", clientv3.WithCountOnly()); err != nil {
		return failure(ctx, err)
	}
	content, err := s.client.Snapshot(ctx)
	if err != nil {
		return failure(ctx, err)
	}
	defer content.Close()
	size, err := io.Copy(w, content)
	switch {
	case err != nil:
		return failure(ctx, err)
	case size%512 != sha256.Size: // the snapshot is a number of pages and their hash
		return io.ErrUnexpectedEOF
	}
	return nil
}
