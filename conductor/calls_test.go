// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/bubble"
	"github.com/ironstate/ironstate/states"
)

// callStore is one conductor's store: it counts what the conductor does with calls, and fails at it while the test says
// so.
type callStore struct {
	*conductor.Memory
	updates, deletes         atomic.Int32
	failUpdates, failDeletes atomic.Bool
	loseResponses            atomic.Bool  // updates are stored, and their responses are lost
	loseCreations            atomic.Bool  // the same for new calls
	limit                    atomic.Int32 // in bytes, of the update of a call; 0 for none
}

func (s *callStore) Create(ctx context.Context, r conductor.Record) (int64, error) {
	revision, err := s.Memory.Create(ctx, r)
	if err == nil && r.Kind == "calls" && s.loseCreations.Load() {
		return 0, errDisk
	}
	return revision, err
}

func (s *callStore) Update(ctx context.Context, r conductor.Record) (int64, error) {
	if r.Kind != "calls" {
		return s.Memory.Update(ctx, r)
	}
	s.updates.Add(1)
	if s.failUpdates.Load() {
		return 0, errDisk
	}
	if limit := int(s.limit.Load()); limit > 0 && len(r.Value) > limit {
		return 0, conductor.ErrTooLarge
	}
	revision, err := s.Memory.Update(ctx, r)
	if err == nil && s.loseResponses.Load() {
		return 0, errDisk
	}
	return revision, err
}

func (s *callStore) Delete(ctx context.Context, kind conductor.Kind, id string, revision int64) (int64, error) {
	if kind == "calls" {
		s.deletes.Add(1)
		if s.failDeletes.Load() {
			return 0, errDisk
		}
	}
	return s.Memory.Delete(ctx, kind, id, revision)
}

// severed is one conductor's membership, which ends when the conductor is cut off.
type severed struct {
	conductor.Membership
	cut atomic.Bool
	off context.CancelFunc // ends the current membership
}

func (c *severed) Join(ctx context.Context, self conductor.Member) iter.Seq2[[]conductor.Member, error] {
	return func(yield func([]conductor.Member, error) bool) {
		if c.cut.Load() {
			yield(nil, errDisk)
			return
		}
		ctx, c.off = context.WithCancel(ctx)
		for members, err := range c.Membership.Join(ctx, self) {
			if !yield(members, err) {
				return
			}
		}
		if c.cut.Load() {
			yield(nil, errDisk)
		}
	}
}

func (c *severed) cutOff() { c.cut.Store(true); c.off() }

// callers are the conductors of startKinds, each with a store and a membership that may fail, and a node of beta's
// hardware type.
type callers struct {
	*kinds
	n       *conductor.Node
	alpha   *conductor.Conductor
	stores  map[string]*callStore
	members map[string]*severed
	log     *lockedBuffer
	hangs   chan bool // closed when beta sets a boot device, which does not end
}

func startCalls(t *testing.T) *callers {
	c := &callers{stores: map[string]*callStore{}, members: map[string]*severed{}, log: &lockedBuffer{}, hangs: make(chan bool)}
	c.kinds = startKinds(t, func(config *conductor.Config) {
		c.stores[config.Name] = &callStore{Memory: config.Store.(*conductor.Memory)}
		c.members[config.Name] = &severed{Membership: config.Membership}
		config.Store, config.Membership = c.stores[config.Name], c.members[config.Name]
		config.Log = slog.New(slog.NewTextHandler(c.log, nil))
		if config.Name == "beta" {
			config.Hardware["beta"] = hanging{&conductor.Fake{}, c.hangs}
		}
	})
	c.alpha = c.conductors["alpha"]
	var err error
	c.n, err = c.alpha.CreateNode(c.ctx, &conductor.Node{Driver: "beta", ProvisionState: states.Manageable})
	require.NoError(t, err)
	return c
}

// stored returns the number of calls in the store.
func (c *callers) stored() int {
	calls, err := c.alpha.Objects(c.ctx, "calls")
	require.NoError(c.t, err)
	return len(calls)
}

func TestACallIsAnsweredOnceTheStoreWorksAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startCalls(t)
		beta := c.stores["beta"]
		beta.failUpdates.Store(true)
		time.AfterFunc(20*time.Second, func() { beta.failUpdates.Store(false) })
		begun := time.Now()
		device, _, err := c.alpha.BootDevice(c.ctx, c.n.UUID)
		require.NoError(t, err)
		require.Equal(t, "pxe", device)
		synctest.Wait()
		require.WithinRange(t, time.Now(), begun.Add(20*time.Second), begun.Add(21*time.Second))
		require.Less(t, beta.updates.Load(), int32(30), "the pauses between attempts grow to a second")
		require.NotContains(t, c.log.String(), "could not be")
	})
}

func TestACallIsDoneOnceAlsoIfItsResultCannotBeStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startCalls(t)
		beta, alpha := c.stores["beta"], c.stores["alpha"]
		beta.failUpdates.Store(true)
		alpha.failDeletes.Store(true)
		err := c.alpha.SetPower(c.ctx, c.n.UUID, states.PowerOn, 0)
		require.ErrorIs(t, err, conductor.NoWorker)
		bubble.Sleep(time.Second) // beta has given up too
		beta.failUpdates.Store(false)
		updates := beta.updates.Load()
		bubble.Sleep(9 * time.Minute)
		require.Equal(t, 1, c.stored())
		require.Equal(t, updates, beta.updates.Load(), "the call is not done again")
		alpha.failDeletes.Store(false)
		bubble.Sleep(2 * time.Minute)
		require.Zero(t, c.stored(), "it expires")
	})
}

func TestTheCallsThatWereServedAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startCalls(t)
		for range 5 {
			_, _, err := c.alpha.BootDevice(c.ctx, c.n.UUID)
			require.NoError(t, err)
			synctest.Wait()
		}
		require.LessOrEqual(t, c.conductors["beta"].Served(), 1, "the last one, if its caller had not deleted it yet")
	})
}

func TestACallWhoseStoredResultHadNoResponseIsDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startCalls(t)
		c.stores["beta"].loseResponses.Store(true)
		begun := time.Now()
		_, _, err := c.alpha.BootDevice(c.ctx, c.n.UUID)
		require.NoError(t, err)
		require.Equal(t, begun, time.Now())
		bubble.Sleep(time.Minute)
		require.Equal(t, int32(2), c.stores["beta"].updates.Load(), "the second attempt finds that the first was stored")
		require.Zero(t, c.stored())
	})
}

func TestACallWaitsForItsOwnResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startCalls(t)
		ctx, cancel := context.WithCancel(c.ctx)
		failed := make(chan error)
		go func() { failed <- c.alpha.SetBootDevice(ctx, c.n.UUID, "pxe", false) }()
		<-c.hangs
		devices, err := c.alpha.BootDevices(c.ctx, c.n.UUID)
		require.NoError(t, err)
		require.Equal(t, []string{"pxe"}, devices)
		synctest.Wait()
		cancel()
		require.ErrorIs(t, <-failed, context.Canceled)
	})
}

func TestACallWhoseCallerDidNotDeleteItExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startCalls(t)
		c.stores["alpha"].failDeletes.Store(true)
		_, _, err := c.alpha.BootDevice(c.ctx, c.n.UUID)
		require.NoError(t, err)
		require.Equal(t, 1, strings.Count(c.log.String(), `msg="a call of another conductor could not be deleted and will expire"`))
		c.stores["alpha"].failDeletes.Store(false)

		deletes := func() (all int32) {
			for _, store := range c.stores {
				all += store.deletes.Load()
			}
			return all
		}
		bubble.Sleep(10*time.Minute + 30*time.Second) // with a check after exactly 10 minutes
		require.Equal(t, 1, c.stored())
		require.Equal(t, int32(1), deletes())
		bubble.Sleep(time.Minute)
		require.Zero(t, c.stored())
		require.Equal(t, int32(2), deletes(), "one conductor deletes it")
		require.Equal(t, 1, strings.Count(c.log.String(), "could not be deleted"))
	})
}

func TestACallFailsAtOnceIfItsOwnerDies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startCalls(t)
		go func() {
			<-c.hangs
			c.stores["beta"].failUpdates.Store(true) // a dead process stores no result
			c.members["beta"].cutOff()
		}()
		begun := time.Now()
		err := c.alpha.SetBootDevice(c.ctx, c.n.UUID, "pxe", false)
		require.ErrorIs(t, err, conductor.NoWorker)
		require.EqualError(t, err, `conductor beta, which owns node `+c.n.UUID+`, does not answer the request "set boot device"`)
		require.Equal(t, begun, time.Now())
		require.Equal(t, []int32{1, 0}, []int32{c.stores["alpha"].updates.Load(), c.stores["gamma"].updates.Load()},
			"only the caller ends the call")
	})
}

func TestOnlyTheCallerEndsACallWhoseOwnerHasDied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startCalls(t)
		c.stores["alpha"].failUpdates.Store(true)
		go func() {
			<-c.hangs
			c.stores["beta"].failUpdates.Store(true)
			c.members["beta"].cutOff()
		}()
		require.ErrorIs(t, c.alpha.SetBootDevice(c.ctx, c.n.UUID, "pxe", false), conductor.NoWorker)
		require.Positive(t, c.stores["alpha"].updates.Load())
		require.Zero(t, c.stores["gamma"].updates.Load())
	})
}

func TestAHeartbeatWithoutTheTokenIsNoCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startCalls(t)
		_, err := c.alpha.UpdateNode(c.ctx, c.n.UUID, func(n *conductor.Node) error { n.Agent.Token = "right"; return nil })
		require.NoError(t, err)
		beat := func(token string) error {
			return c.alpha.Heartbeat(c.ctx, c.n.UUID, conductor.Heartbeat{AgentToken: token, AgentVersion: "9"})
		}
		for _, wrong := range []string{"", "wrong"} {
			require.EqualError(t, beat(wrong), "Invalid or missing agent token received.")
		}
		require.Zero(t, c.stores["alpha"].deletes.Load())
		require.NoError(t, beat("right"))
		require.EqualValues(t, 1, c.stores["alpha"].deletes.Load())
	})
}

// unreadable is hardware whose boot device cannot be read.
type unreadable struct{ *conductor.Fake }

func (unreadable) BootDevice(context.Context, *conductor.Node) (string, bool, error) {
	return "", false, errors.New("the BMC does not answer")
}

func TestAnErrorOfTheHardwareRemainsOneInACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := startKinds(t, func(config *conductor.Config) {
			if config.Name == "beta" {
				config.Hardware["beta"] = unreadable{&conductor.Fake{}}
			}
		})
		n, err := k.conductors["alpha"].CreateNode(k.ctx, &conductor.Node{Driver: "beta", ProvisionState: states.Manageable})
		require.NoError(t, err)
		for _, by := range kindNames {
			_, _, err := k.conductors[by].BootDevice(k.ctx, n.UUID)
			var hardware *conductor.HardwareError
			require.ErrorAs(t, err, &hardware)
			require.EqualError(t, hardware, "the BMC does not answer")
			_, _, err = k.conductors[by].BootDevice(k.ctx, "00000000-0000-4000-8000-000000000000")
			require.ErrorIs(t, err, conductor.NotFound)
			require.False(t, errors.As(err, &hardware))
		}
	})
}

func TestACallEndsWithItsCaller(t *testing.T) {
	for name, test := range map[string]struct {
		end  func(c *callers, cancel context.CancelFunc)
		want error
	}{
		"the request ends":     {func(_ *callers, cancel context.CancelFunc) { cancel() }, context.Canceled},
		"the conductor is cut": {func(c *callers, _ context.CancelFunc) { c.members["alpha"].cutOff() }, conductor.NoWorker},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := startCalls(t)
				ctx, cancel := context.WithCancel(c.ctx)
				defer cancel()
				go func() {
					<-c.hangs
					test.end(c, cancel)
				}()
				begun := time.Now()
				require.ErrorIs(t, c.alpha.SetBootDevice(ctx, c.n.UUID, "pxe", false), test.want)
				require.Equal(t, begun, time.Now())
			})
		})
	}
}

func TestAConductorThatCannotStoreTheResultOfACallStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startCalls(t)
		c.stores["beta"].failUpdates.Store(true)
		c.stores["alpha"].failDeletes.Store(true)
		time.AfterFunc(5*time.Second, c.stop["beta"])
		begun := time.Now()
		_, _, err := c.alpha.BootDevice(c.ctx, c.n.UUID)
		require.ErrorIs(t, err, conductor.NoWorker)
		require.WithinRange(t, time.Now(), begun.Add(5*time.Second), begun.Add(7*time.Second))
		bubble.Sleep(2 * time.Second)
		require.Equal(t, 1, strings.Count(c.log.String(), `msg="the result of a call of another conductor could not be stored"`))
	})
}

func TestACallWhoseResultIsTooLargeForTheStoreFailsAtOnce(t *testing.T) {
	for name, call := range map[string]func(c *callers) error{
		"a large result": func(c *callers) error { _, err := c.alpha.VendorMethods(c.ctx, c.n.UUID); return err },
		"large arguments": func(c *callers) error {
			_, err := c.alpha.CallVendor(c.ctx, c.n.UUID, "third_method_sync", map[string]any{"bar": strings.Repeat("x", 4096)})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := startCalls(t)
				c.stores["beta"].limit.Store(800)
				begun := time.Now()
				err := call(c)
				require.Equal(t, http.StatusRequestEntityTooLarge, conductor.HTTPStatus(err), err)
				require.Less(t, time.Since(begun), time.Second)
				bubble.Sleep(time.Minute)
				require.Equal(t, int32(2), c.stores["beta"].updates.Load())
				require.Zero(t, c.stored())
				require.NotContains(t, c.log.String(), "could not be stored")
			})
		})
	}
}
