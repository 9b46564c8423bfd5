// SPDX-License-Identifier: Apache-2.0

package differ

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ironstate/ironstate/e2e/lockstep"
)

// Run configures a comparison.
type Run struct {
	Root     string // the folder of the Ironic, see [lockstep.Options]
	Seed     uint64
	Round    uint64         // the first round
	Requests int            // how many requests at least; 0 for no such bound
	Time     time.Duration  // how long; 0 for no such bound
	Workers  int            // 0 stands for 1
	Wide     int            // the share of the requests that a reader of the API's reference would send, in percent
	Paths    *regexp.Regexp // only requests whose pattern matches are sent, beside the setup of a round; nil for all
	Examples int            // kept for each class
	Log      io.Writer      // gets every exchange; nil for none
}

// roundLength is the number of requests of a round, after those that create its objects.
const roundLength = 300

// Do makes the comparison. After an error, such as the end of the context, the result
// covers the requests before it.
func (r Run) Do(ctx context.Context) (*Result, error) {
	installed, err := lockstep.Find(ctx, r.Root)
	if err != nil {
		return nil, err
	}
	all := newResult(installed)
	deadline := time.Now().Add(r.Time)
	round := r.Round
	var mu sync.Mutex // guards all and round
	var sent atomic.Int64
	over := func() bool {
		return ctx.Err() != nil || r.Time > 0 && time.Now().After(deadline) || r.Requests > 0 && int(sent.Load()) >= r.Requests
	}
	work := func() error {
		s, err := startSides(ctx, r.Root)
		if err != nil {
			return err
		}
		defer s.close()
		for !over() {
			mu.Lock()
			w := &worker{run: r, sides: s, round: round, sent: &sent, over: over, result: newResult(installed)}
			round++
			mu.Unlock()
			err := w.work(ctx)
			mu.Lock()
			all.merge(w.result, r.Examples)
			mu.Unlock()
			if err != nil {
				return err
			}
		}
		return nil
	}
	errs := make([]error, max(r.Workers, 1))
	var wait sync.WaitGroup
	for i := range errs {
		wait.Go(func() { errs[i] = work() })
	}
	wait.Wait()
	return all, errors.Join(errs...)
}

// worker works on one round.
type worker struct {
	run    Run
	sides  *sides
	round  uint64
	number int
	sent   *atomic.Int64
	over   func() bool
	result *Result

	uuids  uuids
	audits map[string]audit // by the path of the collection
	broken bool             // the sides cannot be brought into step
}

func (w *worker) work(ctx context.Context) error {
	if err := w.sides.reset(ctx); err != nil {
		return err
	}
	g := newGenerator(w.sides.ironic.Series, w.run.Seed, w.round)
	g.wide = w.run.Wide
	w.uuids = uuids{fixed: fixedUUIDs(), made: map[string]string{}}
	w.audits = map[string]audit{}
	for _, path := range w.collections() {
		w.audits[path] = audit{}
	}
	for _, r := range g.setup() {
		if err := w.exchange(ctx, r); err != nil {
			return err
		}
	}
	for range roundLength {
		if w.over() || w.broken {
			return nil
		}
		g.states, g.made = w.states(), w.made()
		r := g.next()
		if w.run.Paths != nil && !w.run.Paths.MatchString(r.Pattern) {
			continue
		}
		if err := w.exchange(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// collections returns the paths of the lists in the series, nodes first.
func (w *worker) collections() []string {
	var paths []string
	for _, k := range kinds {
		if w.sides.ironic.Series >= k.since {
			paths = append(paths, k.path)
		}
	}
	return paths
}

const nodesPath = "/v1/nodes"

// states returns the provision states of Ironic's nodes, by UUID.
func (w *worker) states() map[string]string {
	found := map[string]string{}
	for id, node := range w.audits[nodesPath].ironic {
		found[id], _ = node["provision_state"].(string)
	}
	return found
}

// made returns the UUIDs that Ironic has chosen for the objects that exist, except nodes, by kind and in the order of
// their creation.
func (w *worker) made() map[byte][]string {
	found := map[byte][]string{}
	for _, k := range kinds[1:] {
		objects := w.audits[k.path].ironic
		for id := range objects {
			if w.uuids.made[id] != "" {
				found[k.id] = append(found[k.id], id)
			}
		}
		slices.SortFunc(found[k.id], func(a, b string) int {
			return strings.Compare(fmt.Sprint(objects[a]["created_at"]), fmt.Sprint(objects[b]["created_at"]))
		})
	}
	return found
}

// exchange sends one request and compares the answers, and the records at rest if the
// request writes.
func (w *worker) exchange(ctx context.Context, r Request) error {
	ironic, ironstate, err := w.sides.both(ctx, r, w.uuids.translate(r))
	if err != nil {
		return err
	}
	w.number++
	w.sent.Add(1)
	w.result.Requests++
	e := Example{Seed: w.run.Seed, Round: w.round, Number: w.number, Request: r, Ironic: ironic.String(), Ironstate: ironstate.String()}
	var names []string
	for _, text := range w.uuids.compareAnswers(ironic, ironstate) {
		names = append(names, r.class()+": "+text)
	}
	w.log(e, ironic.Header, ironstate.Header, names)
	refused := ironic.Status >= http.StatusBadRequest && ironstate.Status >= http.StatusBadRequest
	differently := ironic.Status != ironstate.Status || refused && len(names) > 0
	if r.writes {
		changed, err := w.auditAll(ctx, r, &e, refused, differently)
		if err != nil {
			return err
		}
		names = append(names, changed...)
	}
	w.result.add(w.run.Examples, names, e)
	return nil
}

// log writes a request, both answers and the names of the differences.
func (w *worker) log(e Example, ironic, ironstate http.Header, names []string) {
	if w.run.Log == nil {
		return
	}
	fmt.Fprintf(w.run.Log, "-seed %d -round %d, request %d: %v\nIronic:    %v %v\nironstate: %v %v\n", e.Seed, e.Round, e.Number,
		e.Request, e.Ironic, ironic, e.Ironstate, ironstate)
	for _, name := range names {
		fmt.Fprintf(w.run.Log, "DIFFERENT %s\n", name)
	}
}

// auditAll audits the collections that a request may have changed. It returns the names of the differences, which it
// adds to the example. After answers that differ the records differ because of that.
func (w *worker) auditAll(ctx context.Context, r Request, e *Example, refused, differently bool) (names []string, err error) {
	paths := w.touched(r, refused, differently)
	if differently {
		paths = append(slices.Clone(paths), nodesPath) // again, as the removal of an object of one side changes its node
	}
	for _, path := range paths {
		texts, shown, err := w.audit(ctx, path)
		if err != nil {
			return nil, err
		}
		if differently || len(texts) == 0 {
			continue
		}
		for _, text := range texts {
			names = append(names, r.class()+": "+text)
		}
		e.Ironic, e.Ironstate = e.Ironic+"\n      "+shown.Ironic, e.Ironstate+"\n      "+shown.Ironstate
	}
	return names, nil
}

// touched returns the collections that a request may have changed: the collection of its path and
// the nodes, and now and then all. A refused request may have changed the node that it has
// locked: one for a node, or one that only one side has locked, since the two sides have answered it
// differently.
func (w *worker) touched(r Request, refused, differently bool) []string {
	switch {
	case w.number%25 == 0:
		return w.collections()
	case refused && !differently && !strings.HasPrefix(r.Pattern, nodesPath):
		return nil
	case refused:
		return []string{nodesPath}
	}
	paths := []string{nodesPath}
	for _, path := range w.collections()[1:] {
		if strings.HasPrefix(r.Pattern, path) || strings.Contains(r.Pattern, "allocation") && path == "/v1/allocations" {
			paths = append(paths, path)
		}
	}
	return paths
}

// audit compares the records of a collection at rest, and brings those that differ into
// step.
func (w *worker) audit(ctx context.Context, path string) (found []string, shown Example, err error) {
	var now audit
	if now.ironic, err = rest(ctx, w.sides.ironicAPI, path); err != nil {
		return nil, shown, err
	}
	if now.ironstate, err = rest(ctx, w.sides.ironstateAPI, path); err != nil {
		return nil, shown, err
	}
	found, differing := w.uuids.compareRecords(w.audits[path], now)
	if !now.ironic.atRest() || !now.ironstate.atRest() {
		found = append(found, fmt.Sprintf("not at rest: %v -> %v", !now.ironic.atRest(), !now.ironstate.atRest()))
		w.broken = true
	}
	if len(found) > 0 {
		shown.Ironic, shown.Ironstate = shownRecord(now.ironic, differing), shownRecord(now.ironstate, differing)
	}
	w.audits[path] = now
	if len(differing) > 0 {
		err = w.resync(ctx, path, differing)
	}
	return found, shown, err
}
