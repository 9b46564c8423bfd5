// SPDX-License-Identifier: Apache-2.0

package differ

import (
	"context"
	_ "embed"
	"sync"
	"time"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/e2e/lockstep"
	"github.com/ironstate/ironstate/internal/try"
	"github.com/ironstate/ironstate/states"
)

// ironicConfig gives Ironic the interfaces that [conductor.Fake] has, and no delays.
//
//go:embed ironic.conf
var ironicConfig string

// sides are the two servers of a worker.
type sides struct {
	ironic       *lockstep.Ironic
	ironicAPI    *client
	ironstateAPI *client // of the conductor since the last reset
	stop         func()  // stops that conductor
}

// startSides starts an Ironic. The conductor starts with the first reset.
func startSides(ctx context.Context, root string) (*sides, error) {
	ironic, err := lockstep.Start(ctx, lockstep.Options{Root: root, Config: ironicConfig})
	if err != nil {
		return nil, err
	}
	return &sides{ironic: ironic, ironicAPI: newClient(ironic.Endpoint(), ironic.Series), stop: func() {}}, nil
}

// reset removes all records from both sides.
func (s *sides) reset(ctx context.Context) {
	try.OK(s.ironic.Wipe())
	s.stop()
	s.stop = func() {}
	served := try.Get(lockstep.Serve(ctx, conductor.Config{
		Store: &conductor.Memory{}, Table: s.ironic.Series.Table(),
		Hardware: map[string]conductor.Hardware{"fake-hardware": &fake{Fake: conductor.Fake{Series: s.ironic.Series}}},
	}))
	s.ironstateAPI = newClient(served.Endpoint, s.ironic.Series)
	s.stop = func() { s.ironstateAPI.close(); served.Close() }
}

func (s *sides) close() error {
	s.stop()
	s.ironicAPI.close()
	return s.ironic.Close()
}

// fake is [conductor.Fake] with the interfaces of ironicConfig. As with Ironic's
// fake-hardware, a machine has no power state of its own before the first request for one.
type fake struct {
	conductor.Fake
	set sync.Map // the times of the last power requests, by UUID
}

// SetPower implements [conductor.Hardware].
func (f *fake) SetPower(ctx context.Context, n *conductor.Node, power states.Power) error {
	f.set.Store(n.UUID, time.Now())
	return f.Fake.SetPower(ctx, n, power)
}

// Verify implements [conductor.Hardware].
func (f *fake) Verify(ctx context.Context, n *conductor.Node) (states.Power, error) {
	return f.PowerState(ctx, n)
}

// PowerState implements [conductor.Hardware].
func (f *fake) PowerState(ctx context.Context, n *conductor.Node) (states.Power, error) {
	if n.Power == states.NoPower && n.TargetPower == states.NoPower {
		if at, ok := f.set.Load(n.UUID); !ok || n.UpdatedAt == nil || n.UpdatedAt.After(at.(time.Time)) {
			return states.NoPower, nil // a request that the record does not have yet counts
		}
	}
	return f.Fake.PowerState(ctx, n)
}

// both sends a request to Ironic, and then its translation to ironstate.
func (s *sides) both(ctx context.Context, r, translated Request) (ironic, ironstate Answer) {
	ironic, ironstate = s.ironicAPI.send(ctx, r), s.ironstateAPI.send(ctx, translated)
	if s.ironic.Newer { // it has versions that no series has
		ironic.Header.Del(maximumHeader)
		ironstate.Header.Del(maximumHeader)
	}
	return ironic, ironstate
}
