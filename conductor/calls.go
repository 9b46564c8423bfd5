// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/ironstate/ironstate/internal/boundedcall"
	"github.com/ironstate/ironstate/internal/exactjson"
	"github.com/ironstate/ironstate/internal/sleep"
	"github.com/ironstate/ironstate/states"
)

// kindCall is the kind of the records with which conductors call each other.
const kindCall Kind = "calls"

// callRecord is the record of a call. The caller deletes it when it has the result.
type callRecord struct {
	ObjectMeta
	call
}

// Kind implements [Object].
func (*callRecord) Kind() Kind { return kindCall }

// call is a client's request that a conductor leaves to the owner of the node. The conductor named in
// To does it once and adds the result.
type call struct {
	From   string          `json:"from"` // the ID of the calling member
	To     string          `json:"to"`   // the ID of the called member
	Host   string          `json:"host"` // the name of the called conductor
	Node   string          `json:"node"` // UUID
	Origin string          `json:"origin,omitzero"`
	Method string          `json:"method"` // of an ownerRequest
	Args   json.RawMessage `json:"args"`
	Result *callResult     `json:"result,omitzero"` // nil until the call is done
}

// callResult has the value that a method returned, or its error.
type callResult struct {
	Value json.RawMessage `json:"value,omitzero"`
	Err   *callError      `json:"error,omitzero"`
}

// ownerRequest is a request for a node that needs the node's hardware type: the node's owner carries it out where this
// conductor cannot serve the node. The request and its result R travel as JSON.
type ownerRequest[R any] interface {
	// method is the name of the request in the store: conductors of an earlier release know it by that.
	method() string
	// here carries the request out for a node that this conductor serves.
	here(ctx context.Context, c *Conductor, ident string) (R, error)
}

// none is the result of a request that has none.
type none = struct{}

// dispatch carries a request out, here or by the node's owner.
func dispatch[R any](ctx context.Context, c *Conductor, ident string, request ownerRequest[R]) (result R, err error) {
	n, owner, err := c.calls.elsewhere(ctx, ident)
	switch {
	case err != nil:
		return result, err
	case owner.ID == "":
		return request.here(ctx, c, ident)
	default:
		return forward(ctx, c, owner, n, request)
	}
}

// forward lets the owner of a node carry a request out.
func forward[R any](ctx context.Context, c *Conductor, owner Member, n *Node, request ownerRequest[R]) (result R, err error) {
	method := request.method()
	args, err := json.Marshal(request)
	if err != nil {
		return result, fmt.Errorf("encode the arguments of the request %q: %w", method, err)
	}
	value, err := c.calls.forward(ctx, owner, call{Node: n.UUID, Method: method, Args: args})
	if err != nil {
		return result, err
	}
	if err := exactjson.Unmarshal(value, &result); err != nil {
		return result, fmt.Errorf("decode the result of the request %q: %w", method, err)
	}
	return result, nil
}

// carryOut carries out a request that another conductor has left to this one.
func (c *calls) carryOut(ctx context.Context, q call) (json.RawMessage, error) {
	switch q.Method {
	case validateRequest{}.method():
		return decodeAndDo[validateRequest](ctx, c.conductor, q)
	case ProvisionRequest{}.method():
		return decodeAndDo[ProvisionRequest](ctx, c.conductor, q)
	case powerRequest{}.method():
		return decodeAndDo[powerRequest](ctx, c.conductor, q)
	case Heartbeat{}.method():
		return decodeAndDo[Heartbeat](ctx, c.conductor, q)
	case bootDeviceRequest{}.method():
		return decodeAndDo[bootDeviceRequest](ctx, c.conductor, q)
	case bootDevicesRequest{}.method():
		return decodeAndDo[bootDevicesRequest](ctx, c.conductor, q)
	case setBootDeviceRequest{}.method():
		return decodeAndDo[setBootDeviceRequest](ctx, c.conductor, q)
	case vendorMethodsRequest{}.method():
		return decodeAndDo[vendorMethodsRequest](ctx, c.conductor, q)
	case vendorRequest{}.method():
		return decodeAndDo[vendorRequest](ctx, c.conductor, q)
	case nmiRequest{}.method():
		return decodeAndDo[nmiRequest](ctx, c.conductor, q)
	case mediaRequest{}.method():
		return decodeAndDo[mediaRequest](ctx, c.conductor, q)
	case attachMediaRequest{}.method():
		return decodeAndDo[attachMediaRequest](ctx, c.conductor, q)
	case detachMediaRequest{}.method():
		return decodeAndDo[detachMediaRequest](ctx, c.conductor, q)
	case bootModeRequest("").method():
		return decodeAndDo[bootModeRequest](ctx, c.conductor, q)
	case secureBootRequest(false).method():
		return decodeAndDo[secureBootRequest](ctx, c.conductor, q)
	case indicatorsRequest{}.method():
		return decodeAndDo[indicatorsRequest](ctx, c.conductor, q)
	case indicatorRequest{}.method():
		return decodeAndDo[indicatorRequest](ctx, c.conductor, q)
	}
	return nil, refuse(Unsupported, "conductor %s has no method %q", c.config.Name, q.Method)
}

// decodeAndDo carries out the request Q of another conductor.
func decodeAndDo[Q ownerRequest[R], R any](ctx context.Context, c *Conductor, q call) (json.RawMessage, error) {
	var request Q
	if err := exactjson.Unmarshal(q.Args, &request); err != nil {
		return nil, fmt.Errorf("decode the arguments of the request %q: %w", q.Method, err)
	}
	result, err := request.here(ctx, c, q.Node)
	if err != nil {
		return nil, err
	}
	return json.Marshal(result)
}

// calls makes the calls of a conductor to others, and serves theirs.
type calls struct {
	config    *Config
	fleet     *fleet
	sessions  *sessions
	conductor *Conductor // does the calls of others
	served    sync.Map   // the UUIDs of the calls that this process has begun to serve, while they exist
}

// elsewhere returns a node and its owner if this conductor cannot serve the node: it lacks the node's
// hardware type or is in another conductor group, from which the node's BMC may be out of reach. The ID of the owner is
// empty otherwise. The error matches errNoConductor if the node has no owner.
//
// Source: get_conductor_for in ironic/conductor/rpcapi.py.
func (c *calls) elsewhere(ctx context.Context, ident string) (n *Node, owner Member, err error) {
	n, err = c.fleet.node(ctx, ident) // the index may not have the node's last move to another group
	if err != nil || c.serves(n) {
		return n, owner, err
	}
	s, err := c.sessions.current()
	if err != nil {
		return n, owner, err
	}
	if owner, ok := s.owner(n); ok {
		return n, owner, nil
	}
	return n, owner, noConductor(n, c.config.Table.Series(), NotFound)
}

// serves reports whether this conductor can serve a node.
func (c *calls) serves(n *Node) bool {
	_, has := c.config.Hardware[n.Driver]
	return has && n.ConductorGroup == c.config.Group
}

// errNoConductor is the cause of a refusal because no conductor can serve a node.
var errNoConductor = errors.New("no conductor")

// noConductor refuses a request for a node that no conductor can serve.
func noConductor(n *Node, series states.Series, reason Reason) *Error {
	hint := ""
	if series >= states.Caracal { // 4a9a7949c of Ironic, which 24.1.0 has
		hint = " Ensure the driver is valid and enabled."
	}
	refused := refuse(reason, "No valid host was found. Reason: No conductor service registered which supports driver %s "+
		"for conductor group %q.%s", n.Driver, n.ConductorGroup, hint)
	refused.Err = errNoConductor
	return refused
}

// invalidWithoutConductor makes a refusal of [calls.elsewhere] match [Invalid] in place of [NotFound], as Ironic does
// for heartbeats and virtual media, and returns any other error as it is.
//
// Source: heartbeat in ironic/api/controllers/v1/ramdisk.py, GetNodeAndTopicMixin in node.py.
func invalidWithoutConductor(err error) error {
	var refused *Error
	if errors.Is(err, errNoConductor) && errors.As(err, &refused) {
		refused.Reason = Invalid
	}
	return err
}

// forward stores a call and waits for its result, for forwardTimeout at most. The error matches
// [NoWorker] if the owner dies or does not answer in time; the call may then have been done.
func (c *calls) forward(ctx context.Context, owner Member, q call) (json.RawMessage, error) {
	s, err := c.sessions.current()
	if err != nil {
		return nil, err
	}
	q.From, q.To, q.Host, q.Origin = s.id, owner.ID, owner.Hostname, c.config.origin(ctx)
	id := uuid.NewString()
	defer c.forget(ctx, id) // also if the store's response is lost
	if _, err := c.fleet.createObject(ctx, &callRecord{ObjectMeta: ObjectMeta{UUID: id}, call: q}); err != nil {
		return nil, err
	}
	wait, cancel := context.WithTimeout(ctx, forwardTimeout)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	for change := range c.fleet.of(kindCall).Watch(wait) {
		if change.ID != id || change.Value == nil {
			continue
		}
		if r := change.Value.(*callRecord).Result; r != nil && r.Err != nil {
			return nil, r.Err
		} else if r != nil {
			return r.Value, nil
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return nil, q.unanswered()
}

func (q call) unanswered() error {
	return refuse(NoWorker, "conductor %s, which owns node %s, does not answer the request %q", q.Host, q.Node, q.Method)
}

// forget deletes a call. If that fails, reconcile deletes it later.
func (c *calls) forget(ctx context.Context, id string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reportTimeout)
	defer cancel()
	if err := c.fleet.discard(ctx, kindCall, id); err != nil {
		c.config.Log.Warn("a call of another conductor could not be deleted and will expire", "call", id, "error", err)
	}
}

const (
	// forwardTimeout bounds a call of another conductor, and the wait for its result. The other conductor may need
	// slowCallTimeout.
	forwardTimeout = slowCallTimeout + 5*time.Second
	// callExpiry is the age after which a call is deleted whose caller has died or could not delete it.
	callExpiry = 10 * time.Minute
)

// reconcile serves a call of another conductor, ends a call of this one if the called conductor has
// died, and deletes one that has expired.
func (c *calls) reconcile(o *callRecord) {
	s, err := c.sessions.current()
	_, served := c.served.Load(o.UUID)
	switch {
	case err != nil:
	case o.To == s.id && o.Result == nil && !served:
		c.serve(s, o, func(ctx context.Context) callResult { return c.answer(ctx, o.call) })
	case o.From == s.id && o.Result == nil && !served && !isMember(s.members, o.To):
		c.serve(s, o, func(context.Context) callResult { return callResult{Err: asCallError(o.unanswered())} })
	case time.Since(o.CreatedAt) > callExpiry && s.isChosen(o.UUID):
		s.run.group.Go(func() { c.forget(s.ctx, o.UUID) })
	}
}

// serve stores the result of a call. It calls result once for each call, also if the result could not be stored: the
// caller then gets none. A check that has found the call before its caller deleted it may come late.
func (c *calls) serve(s *session, o *callRecord, result func(context.Context) callResult) {
	if _, begun := c.served.LoadOrStore(o.UUID, true); begun {
		return
	}
	if c.fleet.of(kindCall).Get(o.UUID) == nil {
		c.served.Delete(o.UUID)
		return
	}
	s.run.group.Go(func() {
		ctx, cancel := context.WithTimeout(s.ctx, forwardTimeout)
		defer cancel()
		r, o := result(ctx), Clone(o)
		o.Result = &r
		c.store(ctx, s, o)
		c.served.Range(func(id, _ any) bool {
			if c.fleet.of(kindCall).Get(id.(string)) == nil {
				c.served.Delete(id)
			}
			return true
		})
	})
}

// store stores a call with its result, unless the caller has deleted the call or it has a result. An error takes the
// place of a result that is too large for the store, and the arguments, which nobody needs any more, leave it room.
func (c *calls) store(ctx context.Context, s *session, o *callRecord) {
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, reportBackoff) {
		r, err := encodeObject(o)
		if err != nil {
			c.config.Log.Error("the result of a call of another conductor could not be stored", "call", o.UUID, "error", err)
			return
		}
		_, err = c.fleet.store.Update(ctx, r)
		if err == nil || errors.Is(err, NotFound) || errors.Is(err, ErrConflict) {
			return
		}
		if ctx.Err() != nil || s.run.ctx.Err() != nil {
			c.config.Log.Warn("the result of a call of another conductor could not be stored", "call", o.UUID, "error", err)
			return
		}
		if errors.Is(err, ErrTooLarge) {
			err = fmt.Errorf("conductor %s has processed the request %q, whose result cannot be returned: %w", o.Host, o.Method, err)
			o.Args, o.Result = nil, &callResult{Err: asCallError(err)}
		}
		sleep.For(ctx, pause)
	}
}

// answer does a call of another conductor. Its panics are errors.
func (c *calls) answer(ctx context.Context, q call) callResult {
	ctx = context.WithValue(ctx, originKey{}, q.Origin)
	value, err := boundedcall.Do(ctx, stepGrace, func(ctx context.Context) (json.RawMessage, error) {
		return c.carryOut(ctx, q)
	})
	return callResult{Value: value, Err: asCallError(err)}
}

// callError is an error of another conductor.
type callError struct {
	Text    string   `json:"text"`
	Status  int      `json:"status"`
	Matches []string `json:"matches,omitzero"` // the texts of the errors in callErrors that it matches
	// Hardware says that it is a [*HardwareError].
	Hardware bool `json:"hardware,omitzero"`
}

// callErrors are the errors that callers of a [Conductor] distinguish.
var callErrors = []error{
	Invalid, Locked, WrongState, NotAllowed, InMaintenance, Associated, IsProtected, IsRetired, Unsupported, Unsuitable,
	PowerOffDisabled, NotFound, Exists, NoWorker, LimitReached, NoRunbook,
	errors.ErrUnsupported, context.DeadlineExceeded, context.Canceled,
}

// asCallError returns nil for nil.
func asCallError(err error) *callError {
	if err == nil {
		return nil
	}
	var hardware *HardwareError
	e := &callError{Text: err.Error(), Status: HTTPStatus(err), Hardware: errors.As(err, &hardware)}
	for _, known := range callErrors {
		if errors.Is(err, known) {
			e.Matches = append(e.Matches, known.Error())
		}
	}
	return e
}

func (e *callError) Error() string { return e.Text }

// HTTPStatus returns the HTTP status of Ironic's response.
func (e *callError) HTTPStatus() int { return e.Status }

// Unwrap returns the errors that e matches.
func (e *callError) Unwrap() (all []error) {
	for _, known := range callErrors {
		for _, text := range e.Matches {
			if known.Error() == text {
				all = append(all, known)
			}
		}
	}
	if e.Hardware {
		all = append(all, &HardwareError{errors.New(e.Text)})
	}
	return all
}

// problems are the errors of a validation, which travel as callErrors.
type problems map[string]error

// MarshalJSON implements [json.Marshaler].
func (p problems) MarshalJSON() ([]byte, error) {
	all := map[string]*callError{}
	for kind, err := range p {
		all[kind] = asCallError(err)
	}
	return json.Marshal(all)
}

// UnmarshalJSON implements [json.Unmarshaler].
func (p *problems) UnmarshalJSON(text []byte) error {
	var all map[string]*callError
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	*p = problems{}
	for kind, err := range all {
		(*p)[kind] = nil
		if err != nil {
			(*p)[kind] = err
		}
	}
	return nil
}
