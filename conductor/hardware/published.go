// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
)

// Published implements [conductor.FilePublisher].
func (t *Type) Published() ([]string, error) {
	if err := t.made(); err != nil || t.config.Images == nil {
		return nil, err
	}
	return t.config.Images.Nodes()
}

// bootsInstance are the states without work in which a machine may boot its instance.
var bootsInstance = states.SetOf(states.Active, states.ServiceFail, states.UnrescueFail)

// KeepsFiles implements [conductor.FilePublisher]. A machine keeps its files while an agent stays by fast track, and
// while it may boot an instance that is a ramdisk.
func (t *Type) KeepsFiles(n *conductor.Node) bool {
	node, err := t.node(n)
	switch {
	case n == nil:
		return false
	case agentStays(n):
		return true
	default: // what a node with an unknown interface boots is not known
		return bootsInstance.Has(n.ProvisionState) && (err != nil || node.Chosen.Deploy.BootsRamdisk())
	}
}

// agentStays reports whether an agent may still run on the machine, by fast track.
func agentStays(n *conductor.Node) bool { return n.Power == states.PowerOn && n.Agent.Token != "" }

// Withdraw implements [conductor.FilePublisher].
func (t *Type) Withdraw(node string) error {
	if err := t.made(); err != nil || t.config.Images == nil {
		return err
	}
	return t.config.Images.Withdraw(node, "")
}
