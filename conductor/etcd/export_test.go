package etcd

import "context"

// MakeSpace does at once what the server in this process does every minute.
func (s *Store) MakeSpace(ctx context.Context, quota int64) error { return s.makeSpace(ctx, quota) }
