// SPDX-License-Identifier: Apache-2.0

package looplab_test

import (
	"context"
	"testing"

	"github.com/looplab/fsm"
	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/leaks"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/machine/looplab"
	"github.com/ironstate/ironstate/states"
)

func TestMain(m *testing.M) { leaks.Main(m) }

var latest = states.Latest().Table()

// newFSM makes the FSM of a node in a state of the newest series.
func newFSM(t *testing.T, in states.State, callbacks fsm.Callbacks, set ...func(*machine.Config)) *looplab.FSM {
	t.Helper()
	config := machine.Config{Table: latest, Node: machine.Node{State: in}, Name: "node-1"}
	for _, s := range set {
		s(&config)
	}
	f, err := looplab.New(config, callbacks)
	require.NoError(t, err)
	return f
}

// likeFSM has the methods that an FSM and looplab's own have in common.
type likeFSM interface {
	Event(ctx context.Context, event string, args ...any) error
	Transition() error
	Current() string
	Is(state string) bool
	Can(event string) bool
	Cannot(event string) bool
	AvailableTransitions() []string
}

var (
	_ likeFSM = (*fsm.FSM)(nil)
	_ likeFSM = (*looplab.FSM)(nil)
)
