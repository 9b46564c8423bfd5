// SPDX-License-Identifier: Apache-2.0

// Package verify takes a node from enroll to manageable if its BMC answers, and
// back to enroll if not.
//
// A [Verifier] checks the BMC; [Manage] runs Ironic's manage transition around it:
//
//	power, err := verify.Manage(ctx, node, verifier)
//
// The node is then in manageable and its power state is known, or it is in
// enroll and its last error has the step at which verification failed and the cause.
// The caller gets both as an error, an [Error] where the Verifier has returned one.
//
// A service that answers its client before verification ends uses [Start]:
//
//	wait, err := verify.Start(ctx, node, verifier) // the node is in verifying
//	...
//	power, err := wait()
//
// A service that makes the transitions itself, as package conductor does, calls [Run].
//
// Package bmc has the Verifier for real BMCs, over Redfish and IPMI. A function can be
// a Verifier too:
//
//	verifier := verify.Func(func(ctx context.Context) (states.Power, error) { ... })
//
// Source: ironic/conductor/verify.py, and the specification that brought the
// enroll state.
package verify
