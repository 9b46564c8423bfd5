// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/states"
)

func TestAResultThatCannotBeStoredIsAFailure(t *testing.T) {
	tooLarge := ErrTooLarge
	edit := func(*Node) {}
	for name, test := range map[string]struct {
		result result
		edits  bool
	}{
		"a success":          {result{event: states.EventDone, change: edit}, false},
		"a tear-down":        {result{event: states.EventDone, change: edit, always: true}, true},
		"a failure":          {result{event: states.EventFail, change: edit}, true},
		"the end of steps":   {result{event: states.EventDone, stepsDone: true}, false},
		"a wait":             {result{event: states.EventWait, change: edit}, false},
		"it is called again": {result{event: states.EventDone, change: edit, always: true}.storedAs(tooLarge), true},
	} {
		got := test.result.storedAs(tooLarge)
		require.Equal(t, states.EventFail, got.event, name)
		require.Equal(t, tooLarge, got.err, name)
		require.Equal(t, test.edits, got.change != nil, name)
		require.False(t, got.stepsDone, name)
	}
}

func TestTimesAreTheSameIfBothOrNeitherAreKnown(t *testing.T) {
	early, same, late := time.Unix(1, 0), time.Unix(1, 0), time.Unix(2, 0)
	for name, test := range map[string]struct {
		a, b *time.Time
		want bool
	}{
		"neither": {nil, nil, true}, "only the second": {nil, &early, false}, "only the first": {&early, nil, false},
		"equal": {&early, &same, true}, "different": {&early, &late, false},
	} {
		require.Equal(t, test.want, sameTime(test.a, test.b), name)
	}
}

// The end of work is stored, its response is lost, and another writer changes the node before the end is stored again.
func TestTheEndOfWorkIsReportedAlsoIfAnotherWriterFollowsItsLostResponse(t *testing.T) {
	failed := failedWith(errors.New("no disk"))
	for name, test := range map[string]struct {
		result    result
		write     func(*scripted, context.Context, Record) (int64, error)
		elsewhere func(*Node)
		moves     []string
		history   []string
		lost      bool
	}{
		"a success": {
			result{event: states.EventDone}, (*scripted).loses, func(n *Node) { n.Description = "X" },
			[]string{"deploying --done--> active"}, nil, false,
		},
		"a failure": {
			failed, (*scripted).loses, func(n *Node) { n.Description = "X" },
			[]string{"deploying --fail--> deploy failed"}, []string{"no disk"}, false,
		},
		"a failure, and another conductor works on the node": {
			failed, (*scripted).loses, func(n *Node) { n.Claim, n.ProvisionState = "theirs", states.Deleting },
			[]string{"deploying --fail--> deploy failed"}, []string{"no disk"}, false,
		},
		"a failure that was not stored": {
			failed, (*scripted).fails, func(n *Node) { n.Claim, n.ProvisionState = "", states.DeployFail }, nil, nil, true,
		},
		"a failure after which the node was taken over": {
			failed, (*scripted).fails, func(n *Node) { n.Claim = "theirs" }, nil, nil, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				task, store, _ := working(t)
				var moves []string
				task.engine.config.OnTransition = func(move Transition) { moves = append(moves, move.String()) }
				task.engine.transitions = newTransitions(task.engine.config)
				id := task.Node().UUID
				store.updates = []func(context.Context, Record) (int64, error){func(ctx context.Context, r Record) (int64, error) {
					revision, err := test.write(store, ctx, r)
					store.elsewhere(t, id, test.elsewhere)
					return revision, err
				}}
				err := task.report(t.Context(), test.result)
				require.Equal(t, test.lost, errors.Is(err, errLost), err)
				require.Equal(t, test.moves, moves)
				entries, err := store.List(t.Context(), KindHistory, "", 10)
				require.NoError(t, err)
				var history []string
				for _, r := range entries {
					o, err := decodeObject(r)
					require.NoError(t, err)
					history = append(history, o.(*HistoryEntry).Event)
				}
				require.Equal(t, test.history, history)
				wants := &Node{}
				test.elsewhere(wants)
				require.Equal(t, wants.Description, store.description(t, id), "what the other writer has stored stays")
				task.run(t.Context()) // has nothing to do
				require.Equal(t, test.moves, moves)
			})
		})
	}
}

// holder is a membership whose members hold their claims.
type holder struct{ Membership }

func (holder) Holds(string) bool { return true }

// The end of a clean-up, a power request or a force is stored without a transition, its response is lost, and another
// conductor claims the node before the end is stored again.
func TestTheEndOfAnOperationIsReportedAlsoIfAnotherWriterFollowsItsLostResponse(t *testing.T) {
	for name, test := range map[string]struct {
		node Node
		end  func(context.Context, *Task) error
	}{
		"a clean-up": {
			Node{ProvisionState: states.RescueFail, CleanUp: &CleanUp{PowerOff: true}},
			func(ctx context.Context, t *Task) error { return t.finishCleanUp(ctx) },
		},
		"a power request": {
			Node{ProvisionState: states.Active, Power: states.PowerOff, TargetPower: states.PowerOn},
			func(ctx context.Context, t *Task) error {
				if err := t.engine.finishPower(ctx, t, states.PowerOn, 0); !errors.Is(err, errSilent) {
					return errors.Join(err, errors.New("want the error of the hardware"))
				}
				return nil
			},
		},
		"a force": {
			Node{ProvisionState: states.Active, Power: states.PowerOn},
			func(ctx context.Context, t *Task) error {
				action, err := powerRounds{t.engine}.force(ctx, &session{view: view{id: "ours"}}, t.Node(), powerRecord(t.Node()),
					powersync.Action{Event: powersync.Event{Outcome: powersync.Forced, Asked: states.PowerOn}}, powersync.Failures{})
				if err == nil && action.Outcome == powersync.StoreFailed {
					err = action.Err
				}
				return err
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				task, store, _ := working(t)
				task.engine.config.Membership = holder{}
				task.engine.config.Hardware["fake-hardware"] = &Fake{Before: func(context.Context, *Node, string) error { return errSilent }}
				test.node.UUID, test.node.Driver, test.node.Claim = task.Node().UUID, "fake-hardware", "ours"
				store.elsewhere(t, test.node.UUID, func(n *Node) { revision := n.Revision; *n = test.node; n.Revision = revision })
				n, err := task.engine.fleet.storedNode(t.Context(), test.node.UUID)
				require.NoError(t, err)
				task = task.engine.task(n)
				lose := func(ctx context.Context, r Record) (int64, error) {
					n, err := decodeNode(r)
					require.NoError(t, err)
					if n.Claim != "" { // the operation begins, or goes on
						return store.Memory.Update(ctx, r)
					}
					_, err = store.loses(ctx, r)
					store.elsewhere(t, n.UUID, func(n *Node) { n.Claim = "theirs" })
					store.updates = nil
					return 0, err
				}
				store.updates = slices.Repeat([]func(context.Context, Record) (int64, error){lose}, 3)
				require.NoError(t, test.end(t.Context(), task))
				require.Nil(t, store.updates, "the end was stored")
				entries, err := store.List(t.Context(), KindHistory, "", 10)
				require.NoError(t, err)
				require.Len(t, entries, 1)
			})
		})
	}
}

func TestOnlyAWriteThatIsStoredAndDropsTheClaimHasEndedTheWork(t *testing.T) {
	old := &Node{Claim: "ours", Transitions: []TransitionRecord{{Time: time.Unix(1, 0)}}}
	done := append(old.Transitions[:1:1], TransitionRecord{Time: time.Unix(2, 0), Event: states.EventDone})
	later := append(done[:2:2], TransitionRecord{Time: time.Unix(3, 0), Event: states.EventClean})
	for name, test := range map[string]struct {
		write *Node
		// transitions of the stored node
		stored []TransitionRecord
		holds  bool
		want   bool
	}{
		"stored":                              {&Node{Transitions: done}, later, false, true},
		"not stored":                          {&Node{Transitions: done}, old.Transitions, false, false},
		"with more work":                      {&Node{Claim: "ours", Transitions: done}, later, true, false},
		"without a transition":                {&Node{Transitions: old.Transitions}, later, false, false},
		"without a transition, by the holder": {&Node{Transitions: old.Transitions}, old.Transitions, true, true},
	} {
		var unsure doubts
		unsure.add(old, &Node{Claim: "ours"})
		unsure.add(old, test.write)
		ended := unsure.ended(&Node{Claim: "theirs", Transitions: test.stored}, test.holds)
		require.Equal(t, test.want, ended != nil, name)
		if test.want {
			require.Equal(t, test.write, ended, name)
		}
	}
}
