// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/bubble"
	"github.com/ironstate/ironstate/states"
)

type traceKey struct{}

// tracer records each operation as a path: the request, the enclosing operations and its name.
type tracer struct {
	mu    sync.Mutex
	paths []string
	errs  []error
}

func (*tracer) Origin(request context.Context) string {
	origin, _ := request.Value(traceKey{}).(string)
	return origin
}

func (r *tracer) Trace(ctx context.Context, o conductor.Operation, do func(context.Context) error) {
	path, _ := ctx.Value(traceKey{}).(string)
	path += o.Origin + "/" + o.Name
	r.mu.Lock()
	r.paths = append(r.paths, path)
	r.mu.Unlock()
	if err := do(context.WithValue(ctx, traceKey{}, path)); err != nil {
		r.mu.Lock()
		r.errs = append(r.errs, err)
		r.mu.Unlock()
	}
}

func TestATracerSeesTheWorkOfARequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &tracer{}
		f := start(t, func(c *conductor.Config) { c.Tracer, c.SkipPowerSync = r, true })
		request := func(name string) context.Context { return context.WithValue(f.ctx, traceKey{}, name) }
		n := f.node(states.Enroll)
		require.NoError(t, f.Provision(request("first"), n.UUID, conductor.ProvisionRequest{
			Target:  "manage",
			Version: states.Latest().MaxAPIVersion(),
		}))
		f.settle(n)
		require.NoError(t, f.SetPower(request("second"), n.UUID, states.PowerOn, 0))
		bubble.Sleep(time.Minute)
		require.Equal(t, []string{
			"first/verifying", "first/verifying/verify",
			"second/power on", "second/power on/read power", "second/power on/set power on", "second/power on/read power",
		}, r.paths)
		require.Empty(t, r.errs)
	})
}

func TestATraceContinuesAfterACallBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &tracer{}
		f := start(t, func(c *conductor.Config) { c.Tracer, c.SkipPowerSync = r, true })
		waits := []error{conductor.ErrWait}
		f.before(func(context.Context, *conductor.Node, string) (err error) {
			if len(waits) > 0 {
				err, waits = waits[0], waits[1:]
			}
			return err
		})
		n := f.node(states.Manageable)
		require.NoError(t, f.Provision(context.WithValue(f.ctx, traceKey{}, "request"), n.UUID, conductor.ProvisionRequest{
			Target: "clean", Version: states.Latest().MaxAPIVersion(),
			CleanSteps: []conductor.StepRequest{{Interface: "bios", Step: "cache_bios_settings"}, {Interface: "bios", Step: "factory_reset"}},
		}))
		f.settle(n)
		require.NoError(t, f.Resume(f.ctx, n.UUID, nil))
		require.Equal(t, states.Manageable, f.settle(n).ProvisionState)
		require.Equal(t, []string{
			"request/cleaning", "request/cleaning/bios.cache_bios_settings",
			"request/cleaning", "request/cleaning/bios.factory_reset",
		}, r.paths)
		require.ErrorIs(t, errors.Join(r.errs...), conductor.ErrWait)
	})
}

func TestATraceContinuesInAnotherConductor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, r := &conductor.Memory{}, &tracer{}
		other := &script{steps: make(chan scriptStep)} // beta serves the API and owns no node
		f := start(t, func(c *conductor.Config) { c.Store, c.Tracer, c.SkipPowerSync = store, r, true })
		members, err := f.Members()
		require.NoError(t, err)
		alpha := members[0]
		beta := start(t, func(c *conductor.Config) {
			c.Store, c.Tracer, c.Name, c.Group, c.Membership = store, r, "beta", "another", other
			go func() { other.steps <- scriptStep{others: []conductor.Member{alpha}} }()
		})
		synctest.Wait()
		n := f.node(states.Enroll)
		require.NoError(t, beta.Provision(context.WithValue(beta.ctx, traceKey{}, "request"), n.UUID, conductor.ProvisionRequest{
			Target: "manage", Version: states.Latest().MaxAPIVersion(),
		}))
		require.Equal(t, "alpha", f.settle(n).Conductor)
		require.Equal(t, []string{"request/verifying", "request/verifying/verify"}, r.paths)
	})
}

// brokenTracer panics before or after it calls do, or does not call it.
type brokenTracer struct{ how int }

func (brokenTracer) Origin(context.Context) string { return "" }

func (b brokenTracer) Trace(ctx context.Context, _ conductor.Operation, do func(context.Context) error) {
	switch b.how {
	case 0:
		panic("before")
	case 1:
		_, _ = do(ctx), do(ctx)
		panic("after")
	}
}

func TestABrokenTracerDoesNotPreventWork(t *testing.T) {
	for how := range 3 {
		synctest.Test(t, func(t *testing.T) {
			var log lockedBuffer
			f := start(t, func(c *conductor.Config) {
				c.Tracer, c.Log = brokenTracer{how}, slog.New(slog.NewTextHandler(&log, nil))
			})
			var did []string
			f.before(func(_ context.Context, _ *conductor.Node, operation string) error {
				did = append(did, operation)
				if operation == "deploy.deploy" {
					panic("the step's own")
				}
				return nil
			})
			n := f.node(states.Enroll)
			f.request(n, "manage")
			require.Equal(t, states.Manageable, f.settle(n).ProvisionState)
			n = f.node(states.Available)
			f.request(n, "active")
			require.Equal(t, states.DeployFail, f.settle(n).ProvisionState)
			did = slices.DeleteFunc(did, func(operation string) bool { return operation == "read power" })
			require.Equal(t, []string{"verify", "deploy.deploy"}, did)
			panics := strings.Contains(log.String(), `level=ERROR msg="the tracer has panicked" node=`+n.UUID+` value=`)
			require.Equal(t, how < 2, panics, log.String())
		})
	}
}
