// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/e2e/force/history"
	"github.com/ironstate/ironstate/internal/sleep"
	"github.com/ironstate/ironstate/states"
)

// Key prefixes of package conductor/etcd; see its documentation.
const (
	allKeys    = "/ironstate/v1/"
	nodeKeys   = allKeys + "records/nodes/"
	memberKeys = allKeys + "members/"
)

// recorder reads every version of every node, and the members, from etcd.
type recorder struct {
	client *clientv3.Client
	table  *states.Table

	mu          sync.Mutex
	revision    int64 // the recorder has read everything up to this revision
	versions    int
	nodes       map[string][]history.Version
	memberships map[string]history.Membership
	left        map[string]time.Time // when the end of each membership was seen
	takeOver    time.Duration        // the longest time from the end of a membership to the end of its last reservation
	busy        map[string]time.Time // since when each node has not been idle
	longest     longest
	changed     chan struct{} // closed with the next change
}

func newRecorder(client *clientv3.Client, table *states.Table) *recorder {
	return &recorder{
		client: client, table: table, nodes: map[string][]history.Version{}, memberships: map[string]history.Membership{}, left: map[string]time.Time{},
		changed: make(chan struct{}), busy: map[string]time.Time{},
	}
}

// longest is the longest time for which a node was not idle.
type longest struct {
	node  string
	begin time.Time
	took  time.Duration
}

// compactEvery is the interval at which etcd drops the versions that the recorder has read, which
// keeps its database small. A conductor whose watch was interrupted then reads all nodes again.
const compactEvery = 5 * time.Second

// run reads until the context ends. An error means that the history is incomplete.
func (r *recorder) run(ctx context.Context) error {
	next, compacted := int64(1), time.Now()
	for ctx.Err() == nil {
		for answer := range r.client.Watch(clientv3.WithRequireLeader(ctx), allKeys, clientv3.WithPrefix(), clientv3.WithRev(next)) {
			if answer.CompactRevision > 0 {
				return fmt.Errorf("revision %d was compacted before it was read", next)
			}
			if answer.Err() != nil {
				break
			}
			if err := r.take(answer); err != nil {
				return err
			}
			if len(answer.Events) > 0 {
				next = answer.Events[len(answer.Events)-1].Kv.ModRevision + 1
			}
			if time.Since(compacted) > compactEvery {
				compacted = time.Now()
				go func(revision int64) {
					ctx, cancel := context.WithTimeout(ctx, compactEvery)
					defer cancel()
					_, _ = r.client.Compact(ctx, revision) // after a failure the next compaction suffices
				}(next - 1)
			}
		}
		sleep.For(ctx, 100*time.Millisecond)
	}
	return nil
}

// take records the changes of members and nodes in an answer of the watch.
func (r *recorder) take(answer clientv3.WatchResponse) error {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, event := range answer.Events {
		key, deleted := string(event.Kv.Key), event.Type == clientv3.EventTypeDelete
		if id, ok := strings.CutPrefix(key, memberKeys); ok {
			membership := r.memberships[id]
			if deleted {
				membership.Ended = event.Kv.ModRevision
				r.left[id] = now
			} else {
				var m conductor.Member
				if err := json.Unmarshal(event.Kv.Value, &m); err != nil {
					return fmt.Errorf("member %s: %w", id, err)
				}
				membership.Conductor, membership.Begun = m.Hostname, event.Kv.ModRevision
			}
			r.memberships[id] = membership
		}
		if id, ok := strings.CutPrefix(key, nodeKeys); ok {
			if deleted {
				return fmt.Errorf("the node %s was deleted without a request", id)
			}
			v, err := decodeVersion(event.Kv.Value, event.Kv.ModRevision, now)
			if err != nil {
				return fmt.Errorf("node %s: %w", id, err)
			}
			r.addVersion(id, v)
		}
		r.revision = event.Kv.ModRevision
	}
	close(r.changed)
	r.changed = make(chan struct{})
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
	switch idle := history.Idle(r.table, v); {
	case !idle && !busy:
		r.busy[id] = v.Stored
	case idle && busy:
		delete(r.busy, id)
		if took := v.Stored.Sub(begin); took > r.longest.took {
			r.longest = longest{id, begin, took}
		}
	}
}

// valueKey is the key in a node's extra that clients write.
const valueKey = "force"

// decodeVersion decodes a node as package conductor/etcd stores it.
func decodeVersion(value []byte, revision int64, now time.Time) (history.Version, error) {
	_, text, _ := bytes.Cut(value, []byte{'\n'})
	var n conductor.Node
	if err := json.Unmarshal(text, &n); err != nil {
		return history.Version{}, err
	}
	v := history.Version{
		Revision: revision, State: n.ProvisionState, Target: n.TargetProvisionState, TargetPower: n.TargetPower,
		Claim: n.Claim, LastError: n.LastError, Updated: n.CreatedAt, Stored: now,
		Step: n.Step().String(),
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

// caughtUp reports whether the recorder has read everything that was stored before the
// call.
func (r *recorder) caughtUp(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	answer, err := r.client.Get(ctx, allKeys, append(clientv3.WithLastRev(), clientv3.WithPrefix())...)
	if err != nil || len(answer.Kvs) == 0 {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.revision >= answer.Kvs[0].ModRevision
}
