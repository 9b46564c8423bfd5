// SPDX-License-Identifier: Apache-2.0

package machine_test

import (
	"testing"

	"github.com/ironstate/ironstate/internal/leaks"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

func TestMain(m *testing.M) { leaks.Main(m) }

var latest = states.Latest().Table()

// node returns a node in a state, without target and error.
func node(s states.State) machine.Node { return machine.Node{State: s} }
