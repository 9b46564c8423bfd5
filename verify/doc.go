// Package verify takes a node from enroll to manageable when its BMC answers, and
// back to enroll when not.
//
// A [Verifier] asks the BMC; [Manage] runs Ironic's manage transition around it:
//
//	power, err := verify.Manage(ctx, node, verifier)
//
// The node is then in manageable and its power state is known, or it is in
// enroll and its last error says at which step verification failed and why, as an
// [Error] does to the caller.
//
// A service that answers its client before verification ends uses [Start]:
//
//	wait, err := verify.Start(ctx, node, verifier) // the node is in verifying
//	...
//	power, err := wait()
//
// Package bmc has the Verifier for real BMCs, over Redfish and IPMI. One of your
// own is a function:
//
//	verifier := verify.Func(func(ctx context.Context) (states.Power, error) { ... })
//
// Source: ironic/conductor/verify.py, and the specification that brought the
// enroll state.
package verify
