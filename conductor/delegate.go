// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/ironstate/ironstate/internal/boundedcall"
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
	From   string      `json:"from"` // the ID of the calling member
	To     string      `json:"to"`   // the ID of the called member
	Host   string      `json:"host"` // the name of the called conductor
	Node   string      `json:"node"` // UUID
	Origin string      `json:"origin,omitzero"`
	Method string      `json:"method"` // a key of methods
	Args   callArgs    `json:"args"`
	Result *callResult `json:"result,omitzero"` // nil until the call is done
}

// callArgs has the arguments of all methods.
type callArgs struct {
	Provision  *ProvisionRequest `json:"provision,omitzero"`
	Heartbeat  *Heartbeat        `json:"heartbeat,omitzero"`
	Power      states.Power      `json:"power,omitzero"`
	Timeout    time.Duration     `json:"timeout,omitzero"`
	Device     string            `json:"device,omitzero"`
	Persistent bool              `json:"persistent,omitzero"`
	Vendor     string            `json:"vendor,omitzero"` // the vendor passthru method
	Args       map[string]any    `json:"args,omitzero"`   // of the vendor passthru method
	Component  string            `json:"component,omitzero"`
	Indicator  string            `json:"indicator,omitzero"`
	Devices    []string          `json:"devices,omitzero"` // of virtual media
	Image      string            `json:"image,omitzero"`
	Source     string            `json:"source,omitzero"` // of the image
	BootMode   string            `json:"boot_mode,omitzero"`
	SecureBoot bool              `json:"secure_boot,omitzero"`
}

// callResult has the results of all methods.
type callResult struct {
	Err        *callError              `json:"error,omitzero"`
	Problems   map[string]*callError   `json:"problems,omitzero"`
	Device     string                  `json:"device,omitzero"`
	Persistent bool                    `json:"persistent,omitzero"`
	Devices    []string                `json:"devices,omitzero"`
	Vendor     map[string]VendorMethod `json:"vendor,omitzero"`
	Answer     any                     `json:"answer,omitzero"`
	Indicators []Indicator             `json:"indicators,omitzero"`
	State      string                  `json:"state,omitzero"` // of an indicator
	Media      []VirtualMedia          `json:"media,omitzero"`
}

// methods are the methods of a [Conductor] that need the node's hardware type.
var methods map[string]func(*Conductor, context.Context, call) (callResult, error)

func init() {
	methods = map[string]func(*Conductor, context.Context, call) (r callResult, err error){
		"validate": func(c *Conductor, ctx context.Context, q call) (r callResult, err error) {
			problems, err := c.Validate(ctx, q.Node)
			r.Problems = map[string]*callError{}
			for kind, problem := range problems {
				r.Problems[kind] = asCallError(problem)
			}
			return r, err
		},
		"provision": func(c *Conductor, ctx context.Context, q call) (r callResult, err error) {
			return r, c.Provision(ctx, q.Node, *q.Args.Provision)
		},
		"heartbeat": func(c *Conductor, ctx context.Context, q call) (r callResult, err error) {
			return r, c.Heartbeat(ctx, q.Node, *q.Args.Heartbeat)
		},
		"set power": func(c *Conductor, ctx context.Context, q call) (r callResult, err error) {
			return r, c.SetPower(ctx, q.Node, q.Args.Power, q.Args.Timeout)
		},
		"boot device": func(c *Conductor, ctx context.Context, q call) (r callResult, err error) {
			r.Device, r.Persistent, err = c.BootDevice(ctx, q.Node)
			return r, err
		},
		"boot devices": func(c *Conductor, ctx context.Context, q call) (r callResult, err error) {
			r.Devices, err = c.BootDevices(ctx, q.Node)
			return r, err
		},
		"set boot device": func(c *Conductor, ctx context.Context, q call) (r callResult, err error) {
			return r, c.SetBootDevice(ctx, q.Node, q.Args.Device, q.Args.Persistent)
		},
		"inject nmi": func(c *Conductor, ctx context.Context, q call) (r callResult, err error) {
			return r, c.Management(q.Node).InjectNMI(ctx)
		},
		"virtual media": func(c *Conductor, ctx context.Context, q call) (r callResult, err error) {
			r.Media, err = c.Management(q.Node).VirtualMedia(ctx)
			return r, err
		},
		"attach virtual media": func(c *Conductor, ctx context.Context, q call) (r callResult, err error) {
			return r, c.Management(q.Node).AttachVirtualMedia(ctx, q.Args.Device, q.Args.Image, q.Args.Source)
		},
		"detach virtual media": func(c *Conductor, ctx context.Context, q call) (r callResult, err error) {
			return r, c.Management(q.Node).DetachVirtualMedia(ctx, q.Args.Devices)
		},
		"set boot mode": func(c *Conductor, ctx context.Context, q call) (r callResult, err error) {
			return r, c.Management(q.Node).SetBootMode(ctx, q.Args.BootMode)
		},
		"set secure boot": func(c *Conductor, ctx context.Context, q call) (r callResult, err error) {
			return r, c.Management(q.Node).SetSecureBoot(ctx, q.Args.SecureBoot)
		},
		"indicators": func(c *Conductor, ctx context.Context, q call) (r callResult, err error) {
			r.Indicators, err = c.Management(q.Node).Indicators(ctx)
			return r, err
		},
		"indicator state": func(c *Conductor, ctx context.Context, q call) (r callResult, err error) {
			r.State, err = c.Management(q.Node).IndicatorState(ctx, q.Args.Component, q.Args.Indicator)
			return r, err
		},
		"vendor methods": func(c *Conductor, ctx context.Context, q call) (r callResult, err error) {
			r.Vendor, err = c.VendorMethods(ctx, q.Node)
			return r, err
		},
		"vendor": func(c *Conductor, ctx context.Context, q call) (r callResult, err error) {
			r.Answer, err = c.CallVendor(ctx, q.Node, q.Args.Vendor, q.Args.Args)
			return r, err
		},
	}
}

// calls makes the calls of a conductor to others, and serves theirs.
type calls struct {
	config    *Config
	rules     *rulebook
	fleet     *fleet
	sessions  *sessions
	conductor *Conductor // does the calls of others
	serving   sync.Map   // the UUIDs of the calls that are served now
}

// elsewhere returns a node and its owner if this conductor cannot serve the node: it lacks the node's
// hardware type or is in another conductor group. The ID of the owner is empty otherwise, and if the
// node has no owner.
func (c *calls) elsewhere(ctx context.Context, ident string) (n *Node, owner Member, err error) {
	if c.config.alone() {
		return nil, owner, nil
	}
	s, err := c.sessions.current()
	if err != nil {
		return nil, owner, nil // the caller's method says so, if it needs the membership
	}
	if n = c.fleet.indexed(ident); n == nil {
		if n, err = c.fleet.node(ctx, ident); err != nil {
			return nil, owner, err
		}
	}
	if _, has := c.config.Hardware[n.Driver]; has && n.ConductorGroup == c.config.Group {
		return n, owner, nil
	}
	owner, ok := s.owner(n)
	if !ok || owner.ID == s.id {
		return n, Member{}, nil
	}
	return n, owner, nil
}

// delegate calls a method of a node's owner if this conductor cannot serve the node, and reports
// whether it has done so.
func (c *calls) delegate(ctx context.Context, ident, method string, args callArgs) (r callResult, delegated bool, err error) {
	n, owner, err := c.elsewhere(ctx, ident)
	if err != nil || owner.ID == "" {
		return r, err != nil, err
	}
	r, err = c.ask(ctx, owner, call{Node: n.UUID, Method: method, Args: args})
	return r, true, err
}

// ask stores a call and waits for its result, for callTimeout at most. The error matches
// [NoWorker] if the owner dies or does not answer in time; the call may then have been done.
func (c *calls) ask(ctx context.Context, owner Member, q call) (callResult, error) {
	s, err := c.sessions.current()
	if err != nil {
		return callResult{}, err
	}
	q.From, q.To, q.Host, q.Origin = s.id, owner.ID, owner.Hostname, c.config.origin(ctx)
	o, err := c.fleet.createObject(ctx, &callRecord{call: q})
	if err != nil {
		return callResult{}, err
	}
	id := o.Meta().UUID
	defer c.forget(ctx, id)
	wait, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	for change := range c.fleet.of(kindCall).watch(wait) {
		if change.id != id || change.value == nil {
			continue
		}
		if r := change.value.(*callRecord).Result; r != nil && r.Err != nil {
			return callResult{}, r.Err
		} else if r != nil {
			return *r, nil
		}
	}
	if err := ctx.Err(); err != nil {
		return callResult{}, err
	}
	return callResult{}, q.unanswered()
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

// callExpiry is the age after which a call is deleted whose caller has died or could not delete it.
const callExpiry = 10 * callTimeout

// reconcile serves a call of another conductor, ends a call of this one if the called conductor has
// died, and deletes one that has expired.
func (c *calls) reconcile(o *callRecord) {
	s, err := c.sessions.current()
	switch {
	case err != nil:
	case o.To == s.id && o.Result == nil:
		c.serve(s, o, func(ctx context.Context) callResult { return c.answer(ctx, o.call) })
	case o.From == s.id && o.Result == nil && !isMember(s.members, o.To):
		c.serve(s, o, func(context.Context) callResult { return callResult{Err: asCallError(o.unanswered())} })
	case time.Since(o.CreatedAt) > callExpiry && s.chooses(o.UUID):
		s.run.group.Go(func() { c.forget(s.ctx, o.UUID) })
	}
}

// serve stores the result of a call. It calls result once for each call.
func (c *calls) serve(s *session, o *callRecord, result func(context.Context) callResult) {
	if _, begun := c.serving.LoadOrStore(o.UUID, true); begun {
		return
	}
	s.run.group.Go(func() {
		defer c.serving.Delete(o.UUID)
		ctx, cancel := context.WithTimeout(s.ctx, callTimeout)
		defer cancel()
		r, o := result(ctx), Clone(o)
		o.Result = &r
		c.store(ctx, s, o)
	})
}

// store stores a call with its result, unless the caller has deleted the call or it has a result. A
// store may report a new record before it finds the record itself, so the index decides.
func (c *calls) store(ctx context.Context, s *session, o *callRecord) {
	r, err := encodeObject(o)
	if err != nil {
		return
	}
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, reportBackoff) {
		_, err := c.fleet.store.Update(ctx, r)
		now := c.fleet.of(kindCall).get(o.UUID)
		if err == nil || now == nil || now.Meta().Revision != o.Revision {
			return
		}
		if ctx.Err() != nil || s.run.ctx.Err() != nil {
			c.config.Log.Warn("the result of a call of another conductor could not be stored", "call", o.UUID, "error", err)
			return
		}
		sleep.For(ctx, pause)
	}
}

// answer does a call of another conductor. Its panics are errors.
func (c *calls) answer(ctx context.Context, q call) callResult {
	ctx = context.WithValue(ctx, originKey{}, q.Origin)
	r, err := boundedcall.Do(ctx, stepGrace, func(ctx context.Context) (callResult, error) {
		method := methods[q.Method]
		if method == nil {
			return callResult{}, refuse(Unsupported, "conductor %s has no method %q", c.config.Name, q.Method)
		}
		return method(c.conductor, ctx, q)
	})
	r.Err = asCallError(err)
	return r
}

// callError is an error of another conductor.
type callError struct {
	Text    string   `json:"text"`
	Status  int      `json:"status"`
	Matches []string `json:"matches,omitzero"` // the texts of the errors in callErrors that it matches
}

// callErrors are the errors that callers of a [Conductor] distinguish.
var callErrors = []error{
	Invalid, Locked, WrongState, NotAllowed, InMaintenance, Associated, IsProtected, IsRetired, Unsupported, Unsuitable,
	PowerOffDisabled, NotFound, Exists, NoWorker, LimitReached,
	errors.ErrUnsupported, context.DeadlineExceeded, context.Canceled,
}

// asCallError returns nil for nil.
func asCallError(err error) *callError {
	if err == nil {
		return nil
	}
	e := &callError{Text: err.Error(), Status: HTTPStatus(err)}
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
	return all
}

// delegateProvision is delegate for a request for a provision state. What the request's state and
// Complete refuse is refused here.
func (c *calls) delegateProvision(ctx context.Context, ident string, r ProvisionRequest) (delegated bool, err error) {
	n, owner, err := c.elsewhere(ctx, ident)
	if err != nil || owner.ID == "" {
		return err != nil, err
	}
	id, complete := n.UUID, ProvisionRequest{}
	err = c.fleet.retryLocked(ctx, func() error {
		n, err := c.fleet.node(ctx, id)
		if err != nil {
			return err
		}
		if _, err := c.rules.admission().Request(n.Fields(), r.Target, r.Version); err != nil {
			return c.rules.refused(n, err)
		}
		complete = r
		complete.Complete = nil
		if r.Complete != nil {
			return r.Complete(n, &complete)
		}
		return nil
	})
	if err != nil {
		return true, err
	}
	_, err = c.ask(ctx, owner, call{Node: id, Method: "provision", Args: callArgs{Provision: &complete}})
	return true, err
}
