// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ironstate/ironstate/conductor"
)

var (
	// ErrClosed: the store has been closed.
	ErrClosed = errors.New("the store is closed")
	// ErrNoSpace: the database has reached its quota, or the file system of an embedded server its reserve, and the
	// servers refuse every write that needs space. Its HTTPStatus is 503. An embedded server accepts writes again by
	// itself when there is space. The package documentation describes what to do on another cluster.
	ErrNoSpace error = noSpaceError{}
	// ErrNoMajority: half of etcd's servers or more do not run, or do not reach each other or this process. Nothing was
	// written, and its HTTPStatus is 503. A write that was in flight when the majority was lost may be done all the same:
	// its error matches ErrNoMajority, too, and its HTTPStatus is 504.
	ErrNoMajority error = noMajorityError{}
)

// noMajorityError is the type of ErrNoMajority.
type noMajorityError struct{}

func (noMajorityError) Error() string {
	return "etcd has no majority: more than half of its servers have to run and to reach each other"
}

// HTTPStatus returns the status of an API's response.
func (noMajorityError) HTTPStatus() int { return http.StatusServiceUnavailable }

// doubtfulError is the error of a write that was in flight when the majority was lost.
type doubtfulError struct{}

func (doubtfulError) Error() string {
	return "this write may be done or not, read before you repeat it: " + ErrNoMajority.Error()
}

// Unwrap returns ErrNoMajority.
func (doubtfulError) Unwrap() error { return ErrNoMajority }

// HTTPStatus returns the status of an API's response. Clients repeat a request by themselves after a 503.
func (doubtfulError) HTTPStatus() int { return http.StatusGatewayTimeout }

// noSpaceError is the type of ErrNoSpace.
type noSpaceError struct{}

func (noSpaceError) Error() string {
	return "no space for writes: free some on the file systems of etcd's servers; " +
		"if the database has reached its quota, delete what is not needed, then compact, defragment and disarm the alarm NOSPACE"
}

// HTTPStatus returns the status of an API's response.
func (noSpaceError) HTTPStatus() int { return http.StatusServiceUnavailable }

// errFormat: a value has neither the format of this release nor an earlier release's.
var errFormat = errors.New("the value has no header that this release knows")

// TooLargeError reports that a record is larger than the servers accept: more than 1.5 MiB with its
// keys, unless --max-request-bytes is set. It matches [conductor.ErrTooLarge].
type TooLargeError struct {
	Kind conductor.Kind
	ID   string
	Size int // the size of the record's value in bytes
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the record %s of the kind %s is too large: etcd refuses its %d bytes, see --max-request-bytes", e.ID, e.Kind, e.Size)
}

// Unwrap returns [conductor.ErrTooLarge].
func (e *TooLargeError) Unwrap() error { return conductor.ErrTooLarge }

// failure converts the error of a request to etcd to the errors of this package.
func failure(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ended(ctx)
	case errors.Is(err, rpctypes.ErrNoSpace):
		return ErrNoSpace
	}
	return err
}

// ended returns the error of a context that has ended: [ErrClosed] if the store was closed, [ErrNoMajority] if the
// majority was lost, or the context's Err.
func ended(ctx context.Context) error {
	if cause := context.Cause(ctx); errors.Is(cause, ErrClosed) || errors.Is(cause, ErrNoMajority) || errors.Is(cause, ctx.Err()) {
		return cause
	}
	return ctx.Err()
}

// writeFailure is [failure] for a request that writes a record and was sent.
func writeFailure(ctx context.Context, r conductor.Record, err error) error {
	// The client itself refuses a request above its own limit, without contacting a server. A proxy that is busy has the
	// same code.
	tooLarge := errors.Is(err, rpctypes.ErrRequestTooLarge) ||
		status.Code(err) == codes.ResourceExhausted && strings.Contains(err.Error(), "larger than max")
	switch err = failure(ctx, err); {
	case errors.Is(err, ErrNoMajority):
		return doubtfulError{}
	case tooLarge && !errors.Is(err, ErrNoSpace) && ctx.Err() == nil:
		return &TooLargeError{Kind: r.Kind, ID: r.ID, Size: len(r.Value)}
	}
	return err
}

// codeOf returns the gRPC code of an error from a client or from the embedded server.
func codeOf(err error) codes.Code {
	var known rpctypes.EtcdError
	if errors.As(err, &known) {
		return known.Code()
	}
	return status.Code(err)
}

// isUnavailable reports whether the servers are temporarily unavailable.
func isUnavailable(err error) bool { return codeOf(err) == codes.Unavailable }

// lasts reports whether an error of a watch is permanent, so that a retry is useless.
func lasts(err error) bool {
	if errors.Is(err, ErrClosed) || errors.Is(err, errFormat) {
		return true
	}
	switch codeOf(err) {
	case codes.PermissionDenied, codes.Unauthenticated, codes.InvalidArgument, codes.FailedPrecondition, codes.DataLoss, codes.Unimplemented:
		return true
	}
	return false
}
