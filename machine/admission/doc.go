// SPDX-License-Identifier: Apache-2.0

// Package admission decides whether Ironic accepts a request for a node: the rules on
// maintenance, protected and retired nodes, reservations, instances, allocations, hardware
// interfaces, traits and the power state, which a transition table does not have.
//
// [Rules] are the rules of a series with the operator's options, [NodeFields] the fields of a
// node's record that the rules read. Each kind of request has a method, which returns nil or a
// [*Refusal]:
//
//	rules := admission.Rules{Table: states.Bobcat.Table()}
//	fields := admission.NodeFields{State: states.Active, Protected: true}
//	event, err := rules.Provision(fields, "deleted", 82) // err: protected, HTTP status 403
//	err = rules.Delete(fields)                           // the node's record
//
// A Refusal names the field of the record for which the request is refused, and matches its
// [Reason], so that a client can act on it:
//
//	if errors.Is(err, admission.Locked) {
//		... // try again later
//	}
//
// [Rules.Provision] is three decisions in Ironic's order, which a server makes at different
// places: [Rules.Request] is the API's, before it looks at the other fields of the request,
// [Rules.Start] the conductor's when it has the lock, and [Rules.Validate] is about the node's
// hardware interfaces and traits.
//
// [Rules.AllowsStep] says whether the operator allows a step of a cleaning, a deployment or a service, and
// [Rules.Enrolls] whether nodes with a boot mode.
//
// The package does no I/O, keeps no state and does not allocate when it accepts a request.
package admission
