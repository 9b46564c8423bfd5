// SPDX-License-Identifier: Apache-2.0

package looplab_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/looplab/fsm"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/machine/looplab"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
)

// handWritten is a service with a hand-written machine for enrolment.
type handWritten struct {
	fsm *fsm.FSM
}

func newHandWritten() *handWritten {
	s := new(handWritten)
	s.fsm = fsm.NewFSM("enroll", fsm.Events{
		{Name: "manage", Src: []string{"enroll"}, Dst: "verifying"},
		{Name: "done", Src: []string{"verifying"}, Dst: "manageable"},
		{Name: "fail", Src: []string{"verifying"}, Dst: "enroll"},
	}, fsm.Callbacks{
		"enter_verifying": s.verify,
	})
	return s
}

func (s *handWritten) verify(ctx context.Context, e *fsm.Event) {
	e.Err = s.fsm.Event(ctx, "done")
}

// ironics is the same service on Ironic's table: only the constructor and the field's
// type differ. It has all states and events, and stores the same node as Ironic.
type ironics struct {
	fsm *looplab.FSM
}

func newIronics(stored machine.Node) (s *ironics, err error) {
	s = new(ironics)
	s.fsm, err = looplab.New(machine.Config{
		Table: states.Latest().Table(),
		Node:  stored,
	}, fsm.Callbacks{
		"enter_verifying": s.verify,
	})
	return s, err
}

func (s *ironics) verify(ctx context.Context, e *fsm.Event) {
	e.Err = s.fsm.Event(ctx, "done")
}

// A service before and after the change. The hand-written machine refuses every event
// after a context has ended; the other accepts the next event.
func Example() {
	ended, cancel := context.WithCancel(context.Background())
	cancel()

	before := newHandWritten()
	fmt.Println("before:", before.fsm.Event(ended, "manage"))
	fmt.Println("before:", before.fsm.Event(context.Background(), "manage"))

	after, err := newIronics(machine.Node{State: states.Enroll})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("after:", after.fsm.Event(ended, "manage"))
	fmt.Println("after:", after.fsm.Event(context.Background(), "manage"))
	fmt.Println("after:", after.fsm.Current(), after.fsm.AvailableTransitions())
	// Output:
	// before: context canceled
	// before: event manage inappropriate because previous transition did not complete
	// after: context canceled
	// after: <nil>
	// after: manageable [provide inspect adopt clean]
}

// A service on looplab keeps its callbacks during a verification: verify.Manage
// accepts the FSM's Machine.
func ExampleFSM_Machine() {
	f, err := looplab.New(machine.Config{
		Table: states.Latest().Table(),
		Node:  machine.Node{State: states.Enroll},
	}, fsm.Callbacks{
		"enter_state": func(_ context.Context, e *fsm.Event) { fmt.Println(e.Src, "->", e.Dst) },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	bmc := verify.Func(func(context.Context) (states.Power, error) { return states.PowerOn, nil })
	power, err := verify.Manage(context.Background(), f.Machine(), bmc)
	fmt.Println(f.Current(), power, err)
	// Output:
	// enroll -> verifying
	// verifying -> manageable
	// manageable power on <nil>
}

func ExampleFSM_Apply() {
	f, err := looplab.New(machine.Config{
		Table: states.Latest().Table(),
		Node:  machine.Node{State: states.Verifying, Target: states.Manageable},
	}, fsm.Callbacks{
		"enter_enroll": func(_ context.Context, e *fsm.Event) {
			fmt.Println(e.Src, "->", e.Dst, e.Args)
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	err = f.Apply(context.Background(), machine.Input{
		Event:     states.EventFail,
		LastError: "power interface: no answer",
	}, "third attempt")
	fmt.Println(err, f.Machine().Node().LastError)
	// Output:
	// verifying -> enroll [third attempt]
	// <nil> power interface: no answer
}

// A before_ callback cancels an event.
func ExampleFSM_Event() {
	f, err := looplab.New(machine.Config{
		Table: states.Latest().Table(),
		Node:  machine.Node{State: states.Active},
	}, fsm.Callbacks{
		"before_delete": func(_ context.Context, e *fsm.Event) {
			e.Cancel(errors.New("the node is protected"))
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	err = f.Event(context.Background(), "delete")
	fmt.Println(errors.As(err, new(fsm.CanceledError)), err)
	fmt.Println(f.Event(context.Background(), "provide"))
	// Output:
	// true transition canceled with error: the node is protected
	// event provide inappropriate in current state active
}

// A callback fires the next event at the FSM, and not at the looplab FSM in its event.
func ExampleOf() {
	f, err := looplab.New(machine.Config{
		Table: states.Latest().Table(),
		Node:  machine.Node{State: states.Enroll},
	}, fsm.Callbacks{
		"enter_verifying": func(ctx context.Context, e *fsm.Event) {
			e.Err = looplab.Of(e.FSM).Event(ctx, "done")
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(f.Event(context.Background(), "manage"), f.Current())
	// Output: <nil> manageable
}

func ExampleEvents() {
	for _, e := range looplab.Events(states.Kilo.Table())[:2] {
		fmt.Println(e.Name, e.Src, e.Dst)
	}
	// Output:
	// manage [available inspect failed clean failed] manageable
	// inspect [manageable inspect failed] inspecting
}
