// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"testing"

	"github.com/ironstate/ironstate/internal/leaks"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/machine/plan"
	"github.com/ironstate/ironstate/states"
)

func TestMain(m *testing.M) { leaks.Main(m) }

var latest = states.Latest().Table()

// newest is the highest API version of the latest series.
const newest states.APIVersion = 115

var (
	careful    plan.Policy
	mayAbort   = plan.Policy{MayAbort: true}
	mayDestroy = plan.Policy{MayDestroy: true}
	mayBoth    = plan.Policy{MayAbort: true, MayDestroy: true}
)

// node returns a node in a state, without target and error.
func node(s states.State) machine.Node { return machine.Node{State: s} }

// retryOnce retries failed work once.
var retryOnce = plan.Policy{Retries: 1}
