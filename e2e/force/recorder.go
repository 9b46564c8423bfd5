// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/promises"
	"github.com/ironstate/ironstate/e2e/force/history"
	"github.com/ironstate/ironstate/states"
)

// recorder reads every version of every record, and the members, from the log of the store.
type recorder struct {
	log   storeLog
	rules promises.Rules

	mu          sync.Mutex
	revision    int64 // the recorder has read everything up to this revision
	versions    int
	nodes       map[string][]history.Version
	stored      map[string]*promises.Version // the last version of each node
	memberships map[string]history.Membership
	left        map[string]time.Time // when the end of each membership was seen
	takeOver    time.Duration        // the longest time from the end of a membership to the end of its last reservation
	busy        map[string]time.Time // since when each node has not been idle
	longest     longest
	ports       map[string]string // the node of each port that was ever stored, by its MAC address
	unclean     map[string]bool   // the places of control characters, each a kind of records with a path
	findings    []history.Finding // the control characters
	changed     chan struct{}     // closed with the next change
}

func newRecorder(log storeLog, table *states.Table) *recorder {
	return &recorder{
		log: log, rules: promises.Rules{Table: table, MaxTransitions: 32}, // conductor.Config has no other default
		nodes: map[string][]history.Version{}, stored: map[string]*promises.Version{}, memberships: map[string]history.Membership{},
		left: map[string]time.Time{}, changed: make(chan struct{}), busy: map[string]time.Time{}, ports: map[string]string{},
		unclean: map[string]bool{},
	}
}

// longest is the longest time for which a node was not idle.
type longest struct {
	node  string
	begin time.Time
	took  time.Duration
}

// run reads until the context ends. An error means that the history is incomplete.
func (r *recorder) run(ctx context.Context) error { return r.log.follow(ctx, r.take) }

// take records the changes of members and nodes.
func (r *recorder) take(writes []write) error {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range writes {
		if err := r.checkText(w); err != nil {
			return fmt.Errorf("record %s of the %s: %w", w.id, w.kind, err)
		}
		switch {
		case w.kind == members && w.value == nil:
			membership := r.memberships[w.id]
			membership.Ended = w.revision
			r.memberships[w.id], r.left[w.id] = membership, now
		case w.kind == members:
			var m conductor.Member
			if err := json.Unmarshal(w.value, &m); err != nil {
				return fmt.Errorf("member %s: %w", w.id, err)
			}
			if _, known := r.memberships[w.id]; !known { // else it is a renewal
				r.memberships[w.id] = history.Membership{Conductor: m.Hostname, Begun: w.revision}
			}
		case w.kind == conductor.KindNode && w.value == nil:
			return fmt.Errorf("the node %s was deleted without a request", w.id)
		case w.kind == conductor.KindNode:
			v, err := decodeVersion(w.value, w.revision, now)
			if err != nil {
				return fmt.Errorf("node %s: %w", w.id, err)
			}
			if err := r.check(w, &v); err != nil {
				return fmt.Errorf("node %s: %w", w.id, err)
			}
			r.addVersion(w.id, v)
		case w.kind == conductor.KindPort && w.value != nil:
			var p conductor.Port
			if err := json.Unmarshal(w.value, &p); err != nil {
				return fmt.Errorf("port %s: %w", w.id, err)
			}
			r.ports[p.Address] = p.NodeUUID
		}
		r.revision = w.revision
	}
	close(r.changed)
	r.changed = make(chan struct{})
	return nil
}

// checkText finds a control character in a record, the first at each place in records of a kind. The caller holds mu.
func (r *recorder) checkText(w write) error {
	if w.kind == "" || w.value == nil {
		return nil
	}
	where, err := history.ControlCharacter(w.value)
	if place := string(w.kind) + where; where != "" && !r.unclean[place] {
		r.unclean[place] = true
		r.findings = append(r.findings, history.Finding{
			Rule: "texts", Text: fmt.Sprintf("at revision %d record %s of the %s has a control character at %s", w.revision, w.id, w.kind, where),
		})
	}
	return err
}

// check sets the fields Broken and Waits of a version. The caller holds mu.
func (r *recorder) check(w write, v *history.Version) error {
	now, err := promises.Decode(w.value)
	if err != nil {
		return err
	}
	if before := r.stored[w.id]; before != nil {
		_, v.Broken = r.rules.Write(before, now, r.memberships[before.Claim].Ended == 0)
	}
	v.Waits, r.stored[w.id] = r.rules.Waits(now), now
	return nil
}

// addVersion records a version of a node. The caller holds mu.
func (r *recorder) addVersion(id string, v history.Version) {
	if known := r.nodes[id]; len(known) > 0 {
		last := known[len(known)-1]
		if left, ok := r.left[last.Claim]; ok && v.Claim != last.Claim {
			r.takeOver = max(r.takeOver, v.Stored.Sub(left))
		}
	}
	r.nodes[id] = append(r.nodes[id], v)
	r.versions++
	begin, busy := r.busy[id]
	switch {
	case v.Waits != "" && !busy:
		r.busy[id] = v.Stored
	case v.Waits == "" && busy:
		delete(r.busy, id)
		if took := v.Stored.Sub(begin); took > r.longest.took {
			r.longest = longest{id, begin, took}
		}
	}
}

// valueKey is the key in a node's extra that clients write.
const valueKey = "force"

// decodeVersion decodes a node.
func decodeVersion(value []byte, revision int64, now time.Time) (history.Version, error) {
	var n conductor.Node
	if err := json.Unmarshal(value, &n); err != nil {
		return history.Version{}, err
	}
	v := history.Version{
		Revision: revision, State: n.ProvisionState, Target: n.TargetProvisionState, TargetPower: n.TargetPower,
		Claim: n.Claim, LastError: n.LastError, Updated: n.CreatedAt, Stored: now,
		Step: n.Step().String(), Token: n.Agent.Token,
	}
	v.Value, _ = n.Extra[valueKey].(string)
	v.Image, _ = n.InstanceInfo["image_os_hash_value"].(string)
	if n.UpdatedAt != nil {
		v.Updated = *n.UpdatedAt
	}
	if n.ProvisionUpdatedAt != nil {
		v.Moved = n.ProvisionUpdatedAt.String()
	}
	return v, nil
}

// counts returns the number of recorded versions and the number of idle nodes.
func (r *recorder) counts() (versions, idle int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.versions, len(r.nodes) - len(r.busy)
}

// conductor returns the name of the conductor of a claim.
func (r *recorder) conductor(claim string) string {
	return r.memberships[claim].Conductor
}

// busyNodes describes the nodes that are not idle.
func (r *recorder) busyNodes() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []string
	for id := range r.busy {
		v := r.nodes[id][len(r.nodes[id])-1]
		all = append(all, fmt.Sprintf("node %s is in %q, reserved by %q of %s", id, v.State, v.Claim, r.conductor(v.Claim)))
	}
	return all
}

// await waits until a condition holds. It checks the condition after each change and
// every second.
func (r *recorder) await(ctx context.Context, holds func() bool) error {
	for {
		r.mu.Lock()
		changed := r.changed
		r.mu.Unlock()
		if holds() {
			return nil
		}
		select {
		case <-changed:
		case <-time.After(time.Second):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// whileChanging returns a context that ends when no version of a node was stored for a time. On a slow machine, work
// takes longer, but it stores versions.
func (r *recorder) whileChanging(ctx context.Context, quiet time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer cancel()
		for last, since := -1, time.Now(); time.Since(since) < quiet; {
			r.mu.Lock()
			versions, changed := r.versions, r.changed
			r.mu.Unlock()
			if versions != last {
				last, since = versions, time.Now()
			}
			select {
			case <-changed:
			case <-time.After(min(quiet, time.Second)):
			case <-ctx.Done():
				return
			}
		}
	}()
	return ctx, cancel
}

// caughtUp reports whether the recorder has read everything that was stored before the
// call.
func (r *recorder) caughtUp(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	last, err := r.log.last(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	return err == nil && r.revision >= last
}
