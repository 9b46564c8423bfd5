package bmc

import (
	"context"
	"errors"
	"slices"
	"time"
)

// take returns a session of a node that is kept and can be used, nil if there is
// none. It is the caller's until it is kept again.
func (d *Driver) take(ctx context.Context, id string, c Config) *session {
	d.mu.Lock()
	i := slices.IndexFunc(d.kept, func(s *session) bool { return s.id == id })
	if i < 0 {
		d.mu.Unlock()
		return nil
	}
	s := d.kept[i]
	d.kept = slices.Delete(d.kept, i, i+1)
	d.mu.Unlock()
	if s.config != c || time.Since(s.used) > d.config.Idle {
		closeLink(ctx, s.link)
		return nil
	}
	return s
}

// keep keeps a session for its node's next call, and closes those that are too
// many or too old.
func (d *Driver) keep(ctx context.Context, s *session) {
	s.used = time.Now()
	d.mu.Lock()
	d.kept = append(d.kept, s)
	most := d.config.Sessions
	if d.closed {
		most = 0
	}
	drop := max(len(d.kept)-most, 0)
	for drop < len(d.kept) && time.Since(d.kept[drop].used) > d.config.Idle {
		drop++
	}
	dropped := slices.Clone(d.kept[:drop])
	d.kept = slices.Delete(d.kept, 0, drop)
	d.mu.Unlock()
	for _, s := range dropped {
		closeLink(ctx, s.link)
	}
}

// Close logs out of the sessions that are kept. Calls that are under way log out
// when they are through; later ones keep no session. The error is the context's,
// if it ends before all is done.
func (d *Driver) Close(ctx context.Context) error {
	if d == nil {
		return errors.New("the driver was not made by bmc.NewDriver")
	}
	d.mu.Lock()
	kept := d.kept
	d.kept, d.closed = nil, true
	d.mu.Unlock()
	for _, s := range kept {
		if ctx.Err() == nil {
			closeLink(ctx, s.link)
		}
	}
	return ctx.Err()
}
