package statestest_test

import (
	"errors"
	"fmt"

	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/states/statestest"
)

// A switcher is the kind of machine that is written by hand, a case at a time.
type switcher struct {
	state states.State
}

func (m *switcher) Current() states.State { return m.state }

func (m *switcher) Fire(event states.Event) error {
	if event == states.EventAbort {
		return errors.New("abort is for later")
	}
	to, ok := states.Liberty.Table().Next(m.state, event)
	if !ok {
		return fmt.Errorf("no %v in %v", event, m.state)
	}
	m.state = to
	return nil
}

func ExampleCheck() {
	err := statestest.Check(states.Liberty.Table(), func(state, _ states.State) (statestest.Machine, error) {
		return &switcher{state}, nil
	})
	fmt.Println(err)
	// Output: liberty: abort in clean wait: want accepted, in clean failed; got refused (abort is for later), in clean wait
}
