// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
)

// outage is the error of a store that accepts no writes for now.
type outage struct{}

func (outage) Error() string   { return "no majority" }
func (outage) HTTPStatus() int { return http.StatusServiceUnavailable }

// stopping is a store that accepts no writes after the next ones.
type stopping struct {
	conductor.Memory
	writes int // that are accepted, counted if it is positive
}

func (s *stopping) write() error {
	switch s.writes {
	case 0:
		return nil
	case 1:
		return outage{}
	default:
		s.writes--
		return nil
	}
}

func (s *stopping) Create(ctx context.Context, r conductor.Record) (int64, error) {
	if err := s.write(); err != nil {
		return 0, err
	}
	return s.Memory.Create(ctx, r)
}

func (s *stopping) Update(ctx context.Context, r conductor.Record) (int64, error) {
	if err := s.write(); err != nil {
		return 0, err
	}
	return s.Memory.Update(ctx, r)
}

func (s *stopping) Delete(ctx context.Context, kind conductor.Kind, id string, revision int64) (int64, error) {
	if err := s.write(); err != nil {
		return 0, err
	}
	return s.Memory.Delete(ctx, kind, id, revision)
}

// Ironic's clients repeat a request by themselves after a 503.
func TestARequestWhoseFirstWriteIsDoneIsNotAnsweredWith503(t *testing.T) {
	allocate := func(f *fleet, n *conductor.Node) error {
		_, err := f.CreateObject(f.ctx, &conductor.Allocation{ObjectMeta: conductor.ObjectMeta{UUID: allocationID, NodeUUID: n.UUID}})
		return err
	}
	for name, test := range map[string]struct {
		state   states.State
		prepare func(f *fleet, n *conductor.Node) error
		request func(f *fleet, n *conductor.Node) error
	}{
		"the deletion of a node": {states.Available, func(f *fleet, n *conductor.Node) error {
			_, err := f.CreateObject(f.ctx, &conductor.Port{ObjectMeta: conductor.ObjectMeta{NodeUUID: n.UUID}, Address: "52:54:00:00:00:0a"})
			return err
		}, func(f *fleet, n *conductor.Node) error { return f.DeleteNode(f.ctx, n.UUID) }},
		"an allocation for a node": {states.Active, func(*fleet, *conductor.Node) error { return nil }, allocate},
		"the end of an allocation by its node": {states.Active, func(f *fleet, n *conductor.Node) error {
			if err := allocate(f, n); err != nil {
				return err
			}
			_, err := f.UpdateNode(f.ctx, n.UUID, func(n *conductor.Node) error { n.Maintenance = true; return nil })
			return err
		}, func(f *fleet, n *conductor.Node) error {
			_, err := f.UpdateNode(f.ctx, n.UUID, func(n *conductor.Node) error { n.InstanceUUID = ""; return nil })
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			for writes, want := range map[int]int{1: http.StatusServiceUnavailable, 2: http.StatusGatewayTimeout} {
				synctest.Test(t, func(t *testing.T) {
					store := &stopping{}
					f := start(t, func(c *conductor.Config) {
						c.Store, c.SkipPowerSync, c.CheckInterval, c.LockedRetries = store, true, 24*time.Hour, 0
					})
					n := f.node(test.state)
					require.NoError(t, test.prepare(f, n))
					synctest.Wait()
					store.writes = writes
					err := test.request(f, n)
					store.writes = 0
					require.ErrorIs(t, err, outage{})
					require.Equal(t, want, conductor.HTTPStatus(err))
				})
			}
		})
	}
}
