// SPDX-License-Identifier: Apache-2.0

package hardwaretest_test

import (
	"context"
	"fmt"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/hardwaretest"
	"github.com/ironstate/ironstate/states"
)

// hasty is fake-hardware that switches machines without a permission.
type hasty struct{ *conductor.Fake }

func (h hasty) SetPower(ctx context.Context, n *conductor.Node, power states.Power) error {
	return h.Fake.SetPower(unfenced{ctx}, n, power)
}

// Check passes a correct hardware type, and reports one that does not ask for a permission.
func ExampleCheck() {
	c, fake := newFake()
	fmt.Println(hardwaretest.Check(c))
	c, fake = newFake()
	c.Hardware = hasty{fake}
	fmt.Println(hardwaretest.Check(c))
	// Output:
	// <nil>
	// nothing is sent without a permission: SetPower power off sent 1 requests
	// each request needs a permission of its own: SetPower power off sent 1 requests with 0 permissions
}
