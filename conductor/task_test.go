// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/states"
)

// scripted is a store whose next updates and reads of nodes behave as scripted, and the following ones as with
// Memory.
type scripted struct {
	Memory
	updates []func(context.Context, Record) (int64, error)
	gets    []func() error
}

func (s *scripted) Update(ctx context.Context, r Record) (int64, error) {
	if len(s.updates) == 0 {
		return s.Memory.Update(ctx, r)
	}
	update := s.updates[0]
	s.updates = s.updates[1:]
	return update(ctx, r)
}

func (s *scripted) Get(ctx context.Context, kind Kind, key string) (Record, error) {
	if len(s.gets) > 0 {
		get := s.gets[0]
		s.gets = s.gets[1:]
		if err := get(); err != nil {
			return Record{}, err
		}
	}
	return s.Memory.Get(ctx, kind, key)
}

var errSilent = errors.New("the store does not answer")

// loses writes a record, and its response is lost.
func (s *scripted) loses(ctx context.Context, r Record) (int64, error) {
	if _, err := s.Memory.Update(ctx, r); err != nil {
		return 0, err
	}
	return 0, errSilent
}

// fails does not write a record.
func (s *scripted) fails(context.Context, Record) (int64, error) { return 0, errSilent }

// elsewhere changes a node's record as another process does.
func (s *scripted) elsewhere(t *testing.T, id string, change func(*Node)) {
	r, err := s.Memory.Get(context.Background(), KindNode, id)
	require.NoError(t, err)
	n, err := decodeNode(r)
	require.NoError(t, err)
	changed := n.Clone()
	later := now().Add(time.Minute)
	changed.UpdatedAt = &later
	change(changed)
	r, err = encodeNode(changed)
	require.NoError(t, err)
	_, err = s.Memory.Update(context.Background(), r)
	require.NoError(t, err)
}

// working returns the task of a node that is deployed, with its store and its log.
func working(t *testing.T) (*Task, *scripted, *bytes.Buffer) {
	store, log := &scripted{}, &bytes.Buffer{}
	c, err := New(Config{Store: store, Hardware: map[string]Hardware{"fake-hardware": &Fake{}}, Log: slog.New(slog.NewTextHandler(log, nil))})
	require.NoError(t, err)
	n, err := c.CreateNode(t.Context(), &Node{Driver: "fake-hardware", ProvisionState: states.Deploying, Claim: "ours"})
	require.NoError(t, err)
	return c.engine.task(n), store, log
}

// adds returns a change that adds a word to the description of a node.
func adds(word string) func(*Node) error {
	return func(n *Node) error { n.Description += word; return nil }
}

func (s *scripted) description(t *testing.T, id string) string {
	r, err := s.Memory.Get(context.Background(), KindNode, id)
	require.NoError(t, err)
	n, err := decodeNode(r)
	require.NoError(t, err)
	return n.Description
}

func persist(t *Task, ctx context.Context, change func(*Node) error) error {
	return t.record.persist(ctx, change)
}

// taskChanges are the functions that change the record of a task's node.
var taskChanges = map[string]func(*Task, context.Context, func(*Node) error) error{"Update": (*Task).Update, "persist": persist}

func TestAChangeOfATaskIsStoredOnce(t *testing.T) {
	for name, test := range map[string]struct {
		updates func(*scripted, func(func(*Node))) []func(context.Context, Record) (int64, error)
		want    string
		retries int64
	}{
		"at once": {want: "ABC"},
		"after a write that failed": {
			func(s *scripted, _ func(func(*Node))) []func(context.Context, Record) (int64, error) {
				return []func(context.Context, Record) (int64, error){s.fails}
			}, "ABC", 1,
		},
		"after a write whose response was lost": {
			func(s *scripted, _ func(func(*Node))) []func(context.Context, Record) (int64, error) {
				return []func(context.Context, Record) (int64, error){s.loses}
			}, "ABC", 1,
		},
		"after another process's write": {
			func(s *scripted, elsewhere func(func(*Node))) []func(context.Context, Record) (int64, error) {
				return []func(context.Context, Record) (int64, error){func(ctx context.Context, r Record) (int64, error) {
					elsewhere(func(n *Node) { n.Description = "X" })
					return s.Memory.Update(ctx, r)
				}}
			}, "XABC", 0,
		},
		"after a write that failed and another process's": {
			func(s *scripted, elsewhere func(func(*Node))) []func(context.Context, Record) (int64, error) {
				return []func(context.Context, Record) (int64, error){func(ctx context.Context, r Record) (int64, error) {
					elsewhere(func(n *Node) { n.Description = "X" })
					return s.fails(ctx, r)
				}}
			}, "XABC", 1,
		},
		"after a conflict and a read that failed": {
			func(s *scripted, elsewhere func(func(*Node))) []func(context.Context, Record) (int64, error) {
				return []func(context.Context, Record) (int64, error){func(ctx context.Context, r Record) (int64, error) {
					elsewhere(func(n *Node) { n.Description = "X" })
					s.gets = []func() error{func() error { return errSilent }}
					return s.Memory.Update(ctx, r)
				}}
			}, "XABC", 1,
		},
	} {
		for _, change := range taskChanges {
			synctest.Test(t, func(t *testing.T) {
				task, store, log := working(t)
				id := task.Node().UUID
				if test.updates != nil {
					store.updates = test.updates(store, func(change func(*Node)) { store.elsewhere(t, id, change) })
				}
				for _, word := range []string{"A", "B"} {
					task.record.updateLater(func(n *Node) { n.Description += word })
				}
				require.NoError(t, change(task, t.Context(), adds("C")), name)
				require.Equal(t, test.want, store.description(t, id), name)
				require.Equal(t, test.want, task.Node().Description, name)
				require.Equal(t, test.retries, task.engine.counters.reportRetries.Load(), name)
				require.EqualValues(t, test.retries, bytes.Count(log.Bytes(), []byte(
					`level=WARN msg="a change of a node's record could not be stored and will be retried" node=`+id)), name)

				// The next change needs no second attempt and does not repeat the deferred ones.
				store.gets = []func() error{func() error { return errSilent }}
				require.NoError(t, task.Update(t.Context(), adds("D")), name)
				require.Equal(t, test.want+"D", store.description(t, id), name)
				require.Equal(t, test.retries, task.engine.counters.reportRetries.Load(), name)
			})
		}
	}
}

func TestAChangeIsStoredAfterAnotherWhoseOutcomeIsUnknown(t *testing.T) {
	for name, change := range taskChanges {
		task, store, _ := working(t)
		ctx, cancel := context.WithCancel(t.Context())
		store.updates = []func(context.Context, Record) (int64, error){func(_ context.Context, r Record) (int64, error) {
			cancel() // the step ends meanwhile
			return store.loses(t.Context(), r)
		}}
		require.ErrorIs(t, task.Update(ctx, adds("A")), errSilent)
		require.NoError(t, change(task, t.Context(), adds("B")), name)
		require.Equal(t, "AB", store.description(t, task.Node().UUID), name)
	}
}

func TestAChangeThatNoStoreCanHaveIsTriedOnce(t *testing.T) {
	for name, change := range map[string]func(*Node) error{
		"a number that is none": func(n *Node) error { n.Extra = map[string]any{"x": math.NaN()}; return nil },
		"the name of another":   func(n *Node) error { n.Name = "taken"; return nil },
		"an instance of another": func(n *Node) error {
			n.InstanceUUID = "00000000-0000-4000-8000-00000000000a"
			return nil
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			task, _, log := working(t)
			other := &Node{
				UUID: "00000000-0000-4000-8000-000000000001", Driver: "fake-hardware", Name: "taken", ProvisionState: states.Active,
				InstanceUUID: "00000000-0000-4000-8000-00000000000a",
			}
			require.NoError(t, task.engine.fleet.create(t.Context(), other))
			began := time.Now()
			require.Error(t, task.Update(t.Context(), change), name)
			require.Equal(t, began, time.Now(), name)
			require.Empty(t, log.String(), name)
		})
	}
}

// A step's arguments are in the plan, which is stored with the next change.
func TestAResultThatHasNoJSONFailsTheWork(t *testing.T) {
	task, store, log := working(t)
	task.record.updateLater(func(n *Node) { n.Extra = map[string]any{"x": math.NaN()} })
	require.ErrorIs(t, persist(task, t.Context(), adds("A")), errEncoding)
	stored, err := task.record.conclude(t.Context(), nil, func(n *Node, failure error, _ ramdiskUse) error {
		n.Description = fmt.Sprint(failure)
		return nil
	})
	require.NoError(t, err)
	require.ErrorIs(t, stored, errEncoding)
	require.Equal(t, "encode node "+task.Node().UUID+": json: unsupported value: NaN", store.description(t, task.Node().UUID))
	require.Equal(t, 1, strings.Count(log.String(), "level=WARN"))
}

func TestAChangeAfterTheEndOfItsContextIsNotTried(t *testing.T) {
	task, _, _ := working(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errHeld)
	require.ErrorIs(t, task.Update(ctx, func(*Node) error { t.Error("called"); return nil }), errHeld)
}

// The store hangs, and the step's time ends.
func TestAChangeEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		task, store, _ := working(t)
		store.updates = []func(context.Context, Record) (int64, error){func(ctx context.Context, _ Record) (int64, error) {
			<-ctx.Done()
			return 0, ctx.Err()
		}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		require.ErrorIs(t, task.Update(ctx, adds("A")), context.DeadlineExceeded)
		require.Equal(t, time.Second, time.Since(began))
	})
}

func TestATaskWhoseNodeIsTakenOrDeletedChangesNothing(t *testing.T) {
	for name, test := range map[string]struct {
		elsewhere func(*testing.T, *Task, *scripted)
		text      string
	}{
		"another claim": {func(t *testing.T, task *Task, s *scripted) {
			s.elsewhere(t, task.Node().UUID, func(n *Node) { n.Claim = "theirs" })
		}, "the reservation was lost"},
		"no claim": {func(t *testing.T, task *Task, s *scripted) {
			s.elsewhere(t, task.Node().UUID, func(n *Node) { n.Claim = "" })
		}, "the reservation was lost"},
		"deleted": {func(t *testing.T, task *Task, s *scripted) {
			_, err := s.Delete(t.Context(), KindNode, task.Node().UUID, task.Node().Revision)
			require.NoError(t, err)
		}, "the reservation was lost: node %s was deleted"},
		"deleted after a conflict": {func(t *testing.T, task *Task, s *scripted) {
			s.elsewhere(t, task.Node().UUID, func(*Node) {})
			s.gets = []func() error{func() error { return NotFound }}
		}, "the reservation was lost: node %s was deleted"},
	} {
		for _, change := range taskChanges {
			task, store, _ := working(t)
			before := task.Node()
			test.elsewhere(t, task, store)
			err := change(task, t.Context(), adds("A"))
			require.ErrorIs(t, err, errLost, name)
			require.EqualError(t, err, string(bytes.ReplaceAll([]byte(test.text), []byte("%s"), []byte(before.UUID))), name)
			require.Same(t, before, task.Node(), name)
		}
	}
}

func TestATaskRecognizesItsOwnWrite(t *testing.T) {
	early, same, late := time.Unix(1, 0), time.Unix(1, 0), time.Unix(2, 0)
	written := Node{UpdatedAt: &early, Claim: "ours", ProvisionState: states.Deploying}
	for name, test := range map[string]struct {
		unsure []*Node
		stored *Node
		want   bool
	}{
		"no write is in doubt": {nil, &written, false},
		"its own":              {[]*Node{&written}, &Node{UpdatedAt: &same, Claim: "ours", ProvisionState: states.Deploying}, true},
		"at another time":      {[]*Node{&written}, &Node{UpdatedAt: &late, Claim: "ours", ProvisionState: states.Deploying}, false},
		"at an unknown time":   {[]*Node{&written}, &Node{Claim: "ours", ProvisionState: states.Deploying}, false},
		"of another claim":     {[]*Node{&written}, &Node{UpdatedAt: &early, Claim: "theirs", ProvisionState: states.Deploying}, false},
		"the first of two": {[]*Node{&written, {UpdatedAt: &late, Claim: "ours", ProvisionState: states.Deploying}},
			&Node{UpdatedAt: &same, Claim: "ours", ProvisionState: states.Deploying}, true},
		"in another state": {[]*Node{&written}, &Node{UpdatedAt: &early, Claim: "ours", ProvisionState: states.Active}, false},
	} {
		var unsure doubts
		for _, n := range test.unsure {
			unsure.add(&Node{}, n)
		}
		require.Equal(t, test.want, unsure.has(test.stored), name)
	}
}

// A write of the end of work has no claim. A later attempt may have one again: the record was too large, and the
// failure in place of the result leaves a clean-up.
func TestTheNodeOfAnEndInDoubtIsTheNewestWithoutAClaim(t *testing.T) {
	for claims, newest := range map[string]int{
		"c": 0, "-": 0, "cc": 1, "c-": 1, "-c": 0, "--": 1, "ccc": 2, "c-c": 1, "-c-": 2, "-cc": 0, "--c": 1, "cc-": 2,
	} {
		var unsure doubts
		var writes []*Node
		for _, c := range claims {
			n := &Node{Claim: strings.Trim(string(c), "-")}
			unsure.add(&Node{Claim: "c"}, n)
			writes = append(writes, n)
		}
		require.Same(t, writes[newest], unsure.newest, claims)
	}
}

// A store that refuses the end of work for an hour costs no more memory than one that does so for two minutes.
func TestAnHourOfRefusedWritesIsNotRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		task, store, _ := working(t)
		old, unsure, attempts := task.Node(), &doubts{}, 0
		var first *time.Time
		refuse := func(_ context.Context, r Record) (int64, error) {
			n, err := decodeNode(r)
			require.NoError(t, err)
			if attempts++; attempts == 1 {
				first = n.UpdatedAt
			}
			require.LessOrEqual(t, len(unsure.writes), maxDoubts)
			return 0, errSilent
		}
		store.updates = slices.Repeat([]func(context.Context, Record) (int64, error){refuse}, 3600)
		require.NoError(t, task.record.retry(t.Context(), t.Context(), unsure, adds("A")))
		require.Equal(t, 3600, attempts)
		require.Len(t, unsure.writes, maxDoubts)
		stored := func(at *time.Time) *Node {
			return &Node{UpdatedAt: at, Claim: old.Claim, ProvisionState: old.ProvisionState}
		}
		require.True(t, unsure.has(stored(first)), "the first is the likeliest to have been stored")
		require.True(t, unsure.has(unsure.newest))
		last := unsure.newest.UpdatedAt.Add(-90 * time.Second)
		require.True(t, unsure.has(stored(&last)))
	})
}

// The transitions that are reported are the stored ones, of whichever attempt.
func TestTheWriteThatHasEndedWorkHasItsOwnTransitions(t *testing.T) {
	old := &Node{Claim: "ours", Transitions: []TransitionRecord{{Time: time.Unix(1, 0)}}}
	var unsure doubts
	var writes []*Node
	for i := range int64(3) {
		at, moved := time.Unix(2+i, 0), TransitionRecord{Time: time.Unix(2+i, 0), Event: states.EventDone}
		writes = append(writes, &Node{UpdatedAt: &at, Transitions: append(old.Transitions[:1:1], moved)})
		unsure.add(old, writes[i])
	}
	for _, write := range writes {
		for _, holds := range []bool{false, true} {
			later := append(write.Transitions[:2:2], TransitionRecord{Time: time.Unix(9, 0), Event: states.EventClean})
			require.Equal(t, write, unsure.ended(&Node{Claim: "theirs", Transitions: later}, holds))
		}
	}
	require.Equal(t, old.Transitions, old.Transitions[:1])
}

// Of many writes the stored one may no longer be remembered. The stored node has its transitions.
func TestAForgottenWriteThatHasEndedWorkHasItsOwnTransitionsToo(t *testing.T) {
	moved := func(at int64, event states.Event) TransitionRecord {
		return TransitionRecord{Time: time.Unix(at, 0), Event: event}
	}
	old := &Node{Claim: "ours", Transitions: []TransitionRecord{moved(1, states.EventDone)}}
	const attempts, stored = 3 * maxDoubts, maxDoubts
	var unsure doubts
	for i := range int64(attempts) {
		at := time.Unix(2+i, 0)
		unsure.add(old, &Node{UpdatedAt: &at, Transitions: append(old.Transitions[:1:1], moved(2+i, states.EventDone))})
	}
	node := &Node{Transitions: append(old.Transitions[:1:1], moved(2+stored, states.EventDone), moved(9, states.EventClean))}
	require.Equal(t, node.Transitions[:2], unsure.ended(node, true).Transitions)
	require.Nil(t, unsure.ended(node, false), "another process may have made the transition")
	node.Transitions = append(old.Transitions[:1:1], moved(9, states.EventClean))
	require.Equal(t, moved(2, states.EventDone), unsure.ended(node, true).Transitions[1], "the record no longer has the transition")
}

func TestARelativeIsReservedUntilItsRelease(t *testing.T) {
	const id = "00000000-0000-4000-8000-000000000001"
	for name, test := range map[string]struct {
		work   func(*Node) // on the relative
		refuse bool        // the store refuses the writes after the work
		claim  string      // after the release
		logged bool
	}{
		"dropped":                 {func(*Node) {}, false, "", false},
		"its power has no end":    {func(n *Node) { n.TargetPower = states.PowerOff }, false, "", false},
		"its work has dropped it": {(*Node).drop, true, "", false},
		"refused by the store":    {func(*Node) {}, true, "ours", true},
	} {
		task, store, log := working(t)
		engine := task.engine
		require.NoError(t, engine.fleet.create(t.Context(), &Node{UUID: id, Driver: "fake-hardware", ProvisionState: states.Manageable}))
		relative, err := relatives{task}.acquire(t.Context(), id, func(*Node) bool { return true })
		require.NoError(t, err, name)
		stored, err := engine.fleet.storedNode(t.Context(), id)
		require.NoError(t, err)
		ours := []string{engine.config.Name, "ours", engine.config.Name}
		require.Equal(t, ours, []string{stored.Reservation, stored.Claim, stored.Conductor}, name)
		require.NoError(t, relative.record.persist(t.Context(), func(n *Node) error { test.work(n); return nil }))
		if test.refuse {
			store.updates = []func(context.Context, Record) (int64, error){store.fails}
		}

		ctx, stop := context.WithCancel(t.Context())
		stop() // the store is tried once
		relative.release(ctx)
		stored, err = engine.fleet.storedNode(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, test.claim, stored.Claim, name)
		require.Equal(t, states.NoPower, stored.TargetPower, name)
		require.Zero(t, engine.pool.Busy(), name)
		if !test.logged {
			require.Empty(t, log.String(), name)
			continue
		}
		require.Contains(t, log.String(),
			`level=WARN msg="a reservation could not be dropped" node=`+id+` error="store node `+id+`: the store does not answer"`, name)
	}
}
