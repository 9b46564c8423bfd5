// SPDX-License-Identifier: Apache-2.0

package bmc

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc/internal/failure"
	"github.com/ironstate/ironstate/verify/bmc/internal/guard"
	"github.com/ironstate/ironstate/verify/bmc/internal/redfish"
	"github.com/ironstate/ironstate/verify/bmc/internal/schemas"
)

// reader reads the resources of one operation on a system. It continues after a resource that cannot be read, but not
// after a request without an answer.
type reader struct {
	*redfishConnection
	resource // the system
	system   schemas.ComputerSystem
	ctx      context.Context
	errs     []error // why resources were not read
	absent   []error // of links to collections that the BMC does not have
	ended    error   // why no other resource can be read
}

// systemReader reads the system, and returns the reader of its child resources.
func (r *redfishConnection) systemReader(ctx context.Context) (*reader, error) {
	system, err := r.readSystem(ctx)
	if err != nil {
		return nil, err
	}
	of := &reader{redfishConnection: r, ctx: ctx}
	of.resource, err = r.decode(system, &of.system)
	return of, err
}

// readSystem reads the system that the Config selects, without gofish, or returns it from a read that the call shares.
func (r *redfishConnection) readSystem(ctx context.Context) (system resource, err error) {
	shared := sharedIn(ctx)
	if last := shared.Load(); last != nil && last.by == r {
		return last.system, nil
	}
	path, err := r.client.System(ctx)
	if err == nil {
		system.raw, system.answer, err = r.client.Get(ctx, path)
	}
	if err == nil {
		shared.Store(&sharedSystem{r, system})
	}
	return system, err
}

// resource is a resource of a BMC.
type resource struct {
	raw     redfish.Object // as the BMC sent it
	answer  *redfish.Answer
	members map[string]any // without those that package guard removes; nil unless gofish has decoded the resource
}

// get reads a resource, which gofish decodes into a value.
func (r *redfishConnection) get(ctx context.Context, path string, into json.Unmarshaler) (resource, error) {
	raw, a, err := r.client.Get(ctx, path)
	if err != nil {
		return resource{}, err
	}
	return r.decode(resource{raw: raw, answer: a}, into)
}

// decode decodes what package guard lets through of a resource into a value of gofish.
func (r *redfishConnection) decode(of resource, into json.Unmarshaler) (_ resource, err error) {
	a := of.answer
	of.members, err = guard.Resource(a.Body, guard.Rules{
		Path: a.Request.Path,
		Follow: func(link string) (string, bool) {
			path, err := r.client.Follow(a.Request.Path, link)
			return path, err == nil
		},
		Decode: into.UnmarshalJSON,
	})
	if err != nil {
		return resource{}, failure.Protocolf("%v: %v", a.Request, err)
	}
	return of, nil
}

// at returns the value at a path of member names, nil if there is none.
func (r resource) at(names ...string) (value any) {
	value = r.members
	for _, name := range names {
		object, _ := value.(map[string]any)
		value = object[name]
	}
	return value
}

// link returns the path of a link, "" if there is none.
func (r resource) link(names ...string) string { return linkOf(r.at(names...)) }

// links returns the paths in a list of links.
func (r resource) links(names ...string) (paths []string) {
	list, _ := r.at(names...).([]any)
	for _, element := range list {
		if path := linkOf(element); path != "" {
			paths = append(paths, path)
		}
	}
	return paths
}

func linkOf(value any) string {
	object, _ := value.(map[string]any)
	path, _ := object["@odata.id"].(string)
	return path
}

// unlinkedSettings returns the path at which a resource has its settings object in firmware that does not link it, as
// some of AMI's.
func (r resource) unlinkedSettings() string {
	return strings.TrimSuffix(r.answer.Request.Path, "/") + "/SD"
}

// target returns the path of an action, "" if the resource does not have it.
func (r resource) target(action string) string {
	path, _ := r.at("Actions", action, "target").(string)
	return path
}

// note records why a resource was not read.
func (r *reader) note(err error) {
	if err != nil {
		r.errs = append(r.errs, err)
	}
}

// over returns why no other resource can be read, nil if one can, and notes it: see Recheck of package redfish.
func (r *reader) over() error {
	if r.ended == nil {
		r.ended = r.client.Recheck(r.ctx)
		if !slices.ContainsFunc(r.errs, func(known error) bool { return errors.Is(known, r.ended) }) {
			r.note(r.ended)
		}
	}
	return r.ended
}

// forget drops the errors that were noted after the first n, of resources that the caller can do without, unless no
// other resource can be read.
func (r *reader) forget(n int) {
	if r.over() == nil {
		r.errs = r.errs[:n]
	}
}

// err returns all errors that were noted.
func (r *reader) err() error { return errors.Join(r.errs...) }

// read reads a resource into a value of gofish, and notes a failure.
func (r *reader) read(path string, into json.Unmarshaler) (found resource, ok bool) {
	if r.over() != nil {
		return found, false
	}
	found, err := r.get(r.ctx, path, into)
	r.note(err)
	return found, err == nil
}

// decoder is a pointer to a resource of gofish.
type decoder[T any] interface {
	*T
	json.Unmarshaler
}

// readEach reads resources and calls take with each that can be read.
func readEach[T any, P decoder[T]](r *reader, paths []string, take func(P, resource)) {
	for _, path := range paths {
		into := P(new(T))
		if found, ok := r.read(path, into); ok {
			take(into, found)
		}
	}
}

// readMembers reads the members of a collection like readEach. It does nothing without a collection. If the BMC has
// none at the link, that is in absent alone: some BMCs link what they lack. What a BMC without a licence does not tell
// is there.
func readMembers[T any, P decoder[T]](r *reader, collection string, take func(P, resource)) {
	if r.over() != nil {
		return
	}
	members, err := r.client.Members(r.ctx, collection)
	if len(members) == 0 && failure.KindOf(err) == verify.Unsupported && !errors.Is(err, redfish.ErrUnlicensed) {
		r.absent = append(r.absent, err)
		return
	}
	r.note(err)
	readEach(r, members, take)
}
