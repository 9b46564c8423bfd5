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
	"github.com/ironstate/ironstate/internal/try"
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
	c := &comparison{Run: r, deadline: time.Now().Add(r.Time), all: newResult(installed)}
	c.rounds.Store(r.Round)
	errs := make([]error, max(r.Workers, 1))
	var wait sync.WaitGroup
	for i := range errs {
		wait.Go(func() { errs[i] = c.work(ctx) })
	}
	wait.Wait()
	return c.all, errors.Join(errs...)
}

// comparison is what the workers share. It is safe for concurrent use.
type comparison struct {
	Run
	deadline time.Time
	rounds   atomic.Uint64 // the next one
	sent     atomic.Int64  // requests

	mu  sync.Mutex
	all *Result // guarded by mu
}

// over reports whether the comparison ends.
func (c *comparison) over(ctx context.Context) bool {
	return ctx.Err() != nil || c.Time > 0 && time.Now().After(c.deadline) || c.Requests > 0 && int(c.sent.Load()) >= c.Requests
}

// work does one round after the other, with an Ironic of its own.
func (c *comparison) work(ctx context.Context) (err error) {
	sides, err := startSides(ctx, c.Root)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sides.close()) }()
	for err == nil && !c.over(ctx) {
		next := c.next(sides)
		err = try.Catch(func() { next.work(ctx) })
		c.mu.Lock()
		c.all.merge(next.result, c.Examples)
		c.mu.Unlock()
	}
	return err
}

// round is a round of a worker.
type round struct {
	*comparison
	sides  *sides
	number uint64
	result *Result

	requests int // that were sent
	uuids    uuids
	last     map[string]collection // by path, as they were compared last
	broken   bool                  // the sides cannot be brought into step
}

// next returns the next round.
func (c *comparison) next(sides *sides) *round {
	return &round{
		comparison: c, sides: sides, number: c.rounds.Add(1) - 1, result: newResult(c.all.Ironic),
		uuids: uuids{fixed: fixedUUIDs(), made: map[string]string{}}, last: map[string]collection{},
	}
}

// work sends the requests of the round.
func (rd *round) work(ctx context.Context) {
	rd.sides.reset(ctx)
	g := newGenerator(rd.sides.ironic.Series, rd.Seed, rd.number)
	g.wide = rd.Wide
	for _, r := range g.setup() {
		rd.exchange(ctx, r)
	}
	for range roundLength {
		if rd.over(ctx) || rd.broken {
			return
		}
		g.states, g.made = rd.states(), rd.made()
		if r := g.next(); rd.Paths == nil || rd.Paths.MatchString(r.Pattern) {
			rd.exchange(ctx, r)
		}
	}
}

// collections returns the paths of the lists in the series, nodes first.
func (rd *round) collections() []string {
	var paths []string
	for _, k := range kinds {
		if rd.sides.ironic.Series >= k.since {
			paths = append(paths, k.path)
		}
	}
	return paths
}

const nodesPath = "/v1/nodes"

// states returns the provision states of Ironic's nodes, by UUID.
func (rd *round) states() map[string]string {
	found := map[string]string{}
	for id, node := range rd.last[nodesPath].ironic {
		found[id], _ = node["provision_state"].(string)
	}
	return found
}

// made returns the UUIDs that Ironic has chosen for the objects that exist, except nodes, by kind and in the order of
// their creation.
func (rd *round) made() map[letter][]string {
	found := map[letter][]string{}
	for _, k := range kinds[1:] {
		objects := rd.last[k.path].ironic
		for id := range objects {
			if rd.uuids.made[id] != "" {
				found[k.letter] = append(found[k.letter], id)
			}
		}
		slices.SortFunc(found[k.letter], func(a, b string) int {
			return strings.Compare(fmt.Sprint(objects[a]["created_at"]), fmt.Sprint(objects[b]["created_at"]))
		})
	}
	return found
}

// exchange sends one request and compares the answers, and the records at rest if the
// request writes.
func (rd *round) exchange(ctx context.Context, r Request) {
	ironic, ironstate := rd.sides.both(ctx, r, rd.uuids.translate(r))
	rd.requests++
	rd.sent.Add(1)
	rd.result.Requests++
	e := Example{Seed: rd.Seed, Round: rd.number, Number: rd.requests, Request: r, Ironic: ironic.String(), Ironstate: ironstate.String()}
	names := r.classes(rd.uuids.compareAnswers(ironic, ironstate))
	rd.log(e, ironic.Header, ironstate.Header, names)
	refused := ironic.Status >= http.StatusBadRequest && ironstate.Status >= http.StatusBadRequest
	differently := ironic.Status != ironstate.Status || refused && len(names) > 0
	var paths []string
	if r.writes {
		paths = rd.touched(r, refused, differently)
		if differently {
			paths = append(paths, nodesPath) // again, as the removal of an object of one side changes its node
		}
	}
	for _, path := range paths {
		d := rd.compareCollection(ctx, path)
		if len(d.texts) > 0 && !differently { // otherwise the records differ because of the answers
			names = append(names, r.classes(d.texts)...)
			e.Ironic, e.Ironstate = e.Ironic+"\n      "+d.ironic, e.Ironstate+"\n      "+d.ironstate
		}
	}
	rd.result.add(rd.Examples, names, e)
}

// log writes a request, both answers and the names of the differences.
func (rd *round) log(e Example, ironic, ironstate http.Header, names []string) {
	if rd.Log == nil {
		return
	}
	fmt.Fprintf(rd.Log, "-seed %d -round %d, request %d: %v\nIronic:    %v %v\nironstate: %v %v\n", e.Seed, e.Round, e.Number,
		e.Request, e.Ironic, ironic, e.Ironstate, ironstate)
	for _, name := range names {
		fmt.Fprintf(rd.Log, "DIFFERENT %s\n", name)
	}
}

// touched returns the collections that a request may have changed: the collection of its path and
// the nodes, and now and then all. A refused request may have changed the node that it has
// locked: one for a node, or one that only one side has locked, since the two sides have answered it
// differently.
func (rd *round) touched(r Request, refused, differently bool) []string {
	switch {
	case rd.requests%25 == 0:
		return rd.collections()
	case refused && !differently && !strings.HasPrefix(r.Pattern, nodesPath):
		return nil
	case refused:
		return []string{nodesPath}
	}
	paths := []string{nodesPath}
	for _, path := range rd.collections()[1:] {
		if strings.HasPrefix(r.Pattern, path) || strings.Contains(r.Pattern, "allocation") && path == "/v1/allocations" {
			paths = append(paths, path)
		}
	}
	return paths
}

// differences are what differs between the records of a collection.
type differences struct {
	texts             []string // one for each class
	ironic, ironstate string   // the first record that differs
}

// compareCollection compares the records of a collection at rest, and brings the ones that differ into step.
func (rd *round) compareCollection(ctx context.Context, path string) (d differences) {
	now := rd.sides.rest(ctx, path)
	texts, differing := rd.uuids.compareRecords(rd.last[path], now)
	if !now.ironic.atRest() || !now.ironstate.atRest() {
		texts = append(texts, fmt.Sprintf("not at rest: %v -> %v", !now.ironic.atRest(), !now.ironstate.atRest()))
		rd.broken = true
	}
	rd.last[path] = now
	d.texts = texts
	if len(differing) > 0 {
		first := differing[0]
		d.ironic, d.ironstate = shownRecord(now.ironic[first]), shownRecord(rd.uuids.counterpart(now.ironstate, first))
		rd.resync(ctx, path, differing)
	}
	return d
}
