package etcd

import "context"

// MakeSpace runs the maintenance of the embedded server now, which otherwise runs every minute.
func (s *Store) MakeSpace(ctx context.Context, quota int64) error { return s.makeSpace(ctx, quota) }

// ZapLogger is zapLogger.
var ZapLogger = zapLogger
