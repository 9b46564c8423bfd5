// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package schedules

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"
)

var (
	// ErrCut is the error of a call that fails or is not answered.
	ErrCut = errors.New("the connection is cut")
	// ErrPanic is the error of a call of which the caller is to panic.
	ErrPanic = errors.New("the call panics")
)

// Gate stops the goroutines of a Run at their calls of foreign code until a choice lets them go. It has what is common
// to Runs of a few processes: the calls, the number of faults that may still happen, and a hash of all that each
// process has seen, which stands for the process' state.
type Gate struct {
	Failures

	mu      sync.Mutex
	direct  sync.Mutex // held during a call that does not wait
	faults  int
	open    bool // calls do not wait any more
	calls   []*Call
	seen    map[string]uint64 // by process
	ended   map[string]int    // how many goroutines of each process have returned
	dead    map[string]bool
	access  Access              // of the choice that is carried out
	results map[string][]string // by process, as it sees them
	news    chan struct{}       // a call has come or gone, or a process has returned, while time passes
	closed  chan struct{}
	group   sync.WaitGroup
}

// Call is a call that waits.
type Call struct {
	By     string // the process
	Name   string // for people
	Object string // which the call reads or writes
	Writes bool   // the call changes something: its answer may be lost, and it may arrive after its caller has given up
	Hangs  bool   // the call may ignore the end of its context, as a fault
	Undone bool   // the call may be answered without being done, as a fault
	Panics bool   // the call may return ErrPanic, as a fault
	Do     func() (result string, err error)

	answer chan error
	deaf   atomic.Bool // it ignores the end of its context
	left   atomic.Bool // its caller has given up
}

// Late reports whether the caller has given up, or may have: the call hangs.
func (c *Call) Late() bool { return c.left.Load() || c.deaf.Load() }

// NewGate returns a gate of a run in which a number of faults may happen.
func NewGate(faults int) *Gate {
	return &Gate{
		faults: faults, seen: map[string]uint64{},
		ended: map[string]int{}, dead: map[string]bool{}, access: Access{}, results: map[string][]string{},
		news: make(chan struct{}, 1), closed: make(chan struct{}),
	}
}

// Go runs a function of a process in a goroutine. It returns a text of all that the process has seen.
func (g *Gate) Go(process string, f func() string) {
	g.mu.Lock()
	g.seen[process] += 0
	g.mu.Unlock()
	g.group.Go(func() {
		text := f()
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.dead[process] || g.Closed() {
			return
		}
		g.ended[process]++
		g.access.Touch("process "+process, true)
		g.results[process] = append(g.results[process], text)
		g.notify()
	})
}

// Call makes a call wait until a choice lets it go, its context ends or the run does.
func (g *Gate) Call(ctx context.Context, c *Call) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	c.answer = make(chan error)
	g.mu.Lock()
	open, dead := g.open, g.dead[c.By]
	g.seen[c.By] += 0
	if !open && !dead {
		g.calls = append(g.calls, c)
		g.access.Touch("process "+c.By, true)
		g.notify()
	}
	g.mu.Unlock()
	if open {
		g.direct.Lock()
		defer g.direct.Unlock()
		_, err := c.Do()
		return err
	}
	done := ctx.Done()
	if dead {
		done = nil
	}
	for {
		select {
		case err := <-c.answer:
			if errors.Is(err, errDeaf) {
				done = nil
				continue
			}
			return err
		case <-g.closed:
			return ErrCut
		case <-done:
		}
		g.mu.Lock()
		if g.dead[c.By] {
			g.mu.Unlock()
			done = nil
			continue
		}
		g.leave(c)
		g.access.Touch("process "+c.By, true)
		g.notify()
		g.mu.Unlock()
		return ctx.Err()
	}
}

// errDeaf makes a call ignore the end of its context.
var errDeaf = errors.New("the call hangs")

// leave removes a call whose caller has given up, unless it may still arrive.
func (g *Gate) leave(c *Call) {
	c.left.Store(true)
	g.calls = slices.DeleteFunc(g.calls, func(other *Call) bool { return other == c && !c.Writes })
}

func (g *Gate) notify() {
	select {
	case g.news <- struct{}{}:
	default:
	}
}

// Closed reports whether the run has ended.
func (g *Gate) Closed() bool {
	select {
	case <-g.closed:
		return true
	default:
		return false
	}
}

// Touch adds an object to those that the present choice has read or written.
func (g *Gate) Touch(object string, write bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.access.Touch(object, write)
}

// Faults returns how many faults may still happen.
func (g *Gate) Faults() int { return g.faults }

// Waiting reports whether a call waits whose caller waits for it.
func (g *Gate) Waiting() bool {
	return slices.ContainsFunc(g.sorted(), func(c *Call) bool { return !c.Late() })
}

// Returned returns how many goroutines of a process have returned; see [Gate.Go].
func (g *Gate) Returned(process string) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.ended[process]
}

// Dead reports whether a process has died.
func (g *Gate) Dead(process string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.dead[process]
}

// sorted returns the calls in the order of their processes and names.
func (g *Gate) sorted() []*Call {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.SortedStableFunc(slices.Values(g.calls), func(a, b *Call) int {
		return cmp.Or(cmp.Compare(a.By, b.By), cmp.Compare(a.Name, b.Name))
	})
}

// Done returns the choices that a call is done. One whose caller has given up may arrive late or never.
func (g *Gate) Done() (all []Choice) {
	for _, c := range g.sorted() {
		if c.Late() {
			all = append(all, Choice{Name: c.By + ": " + c.Name + ", late", Idle: true, Do: func() { g.answer(c, "late") }})
		} else {
			all = append(all, Choice{Name: c.By + ": " + c.Name, Do: func() { g.answer(c, "done") }})
		}
	}
	return all
}

// Faulty returns the choices that a call fails before it arrives, is done and not answered, or hangs.
func (g *Gate) Faulty() (all []Choice) {
	for _, c := range g.sorted() {
		if g.faults == 0 || c.Late() {
			continue
		}
		name := c.By + ": " + c.Name
		all = append(all, Choice{Name: name + ", fails", Fault: true, Do: func() { g.answer(c, "fails") }})
		if c.Writes {
			all = append(all, Choice{Name: name + ", not answered", Fault: true, Do: func() { g.answer(c, "lost") }})
		}
		if c.Undone {
			all = append(all, Choice{Name: name + ", answered and not done", Fault: true, Do: func() { g.answer(c, "undone") }})
		}
		if c.Panics {
			all = append(all, Choice{Name: name + ", panics", Fault: true, Do: func() { g.answer(c, "panics") }})
		}
		if c.Hangs {
			all = append(all, Choice{Name: name + ", hangs", Fault: true, Do: func() { g.answer(c, "hangs") }})
		}
	}
	return all
}

// answer lets a call go on.
func (g *Gate) answer(c *Call, how string) {
	if how != "late" || !c.left.Load() {
		g.Touch("process "+c.By, true)
	}
	if how == "hangs" {
		c.deaf.Store(true)
		c.answer <- errDeaf
		return
	}
	g.mu.Lock()
	g.calls = slices.DeleteFunc(g.calls, func(other *Call) bool { return other == c })
	g.mu.Unlock()
	err := ErrCut
	switch how {
	case "fails":
	case "undone":
		err = nil
	case "panics":
		err = ErrPanic
	default:
		g.Touch(c.Object, c.Writes)
		result, done := c.Do()
		if !c.left.Load() {
			g.mu.Lock()
			g.results[c.By] = append(g.results[c.By], fmt.Sprint(result, done))
			g.mu.Unlock()
		}
		if how != "lost" {
			err = done
		}
	}
	if !c.left.Load() {
		c.answer <- err
	}
}

// Kill ends a process: its calls are not answered, and those that write may still arrive.
func (g *Gate) Kill(process string) {
	g.Touch("process "+process, true)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.dead[process] = true
	for _, c := range slices.Clone(g.calls) {
		if c.By == process {
			g.leave(c)
		}
	}
}

// Apply carries a choice out and waits until all goroutines wait again. The choice and its result are
// added to the observations of the processes that it has touched.
func (g *Gate) Apply(c Choice) Access {
	g.mu.Lock()
	g.access, g.results = Access{}, map[string][]string{}
	g.mu.Unlock()
	if c.Fault {
		g.Touch("faults", true)
		g.faults--
	}
	c.Do()
	synctest.Wait()
	g.mu.Lock()
	defer g.mu.Unlock()
	_, all := g.access[Everything]
	for process := range g.seen {
		if _, touched := g.access["process "+process]; all || touched {
			slices.Sort(g.results[process])
			g.seen[process] = Hash(g.seen[process], c.Name, g.results[process])
		}
	}
	return g.access
}

// Pass lets time pass until a call comes or goes or a process returns, for at most the limit. It reports whether
// nothing has happened.
func (g *Gate) Pass(limit time.Duration) (over bool) {
	g.Touch(Everything, true)
	select {
	case <-g.news:
	default:
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-g.news:
		return false
	case <-timer.C:
		return true
	}
}

// Key returns a hash of what the processes have seen, of the calls that wait, and of the values.
func (g *Gate) Key(values ...any) uint64 {
	var calls []string
	for _, c := range g.sorted() {
		calls = append(calls, fmt.Sprint(c.By, c.Name, c.left.Load(), c.deaf.Load()))
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return Hash(g.faults, g.seen, g.ended, g.dead, calls, values)
}

// Hash returns a hash of the texts of values, which is the same within one process of the operating system.
func Hash(values ...any) uint64 { return maphash.String(seed, fmt.Sprint(values...)) }

var seed = maphash.MakeSeed()

// Open lets all calls that come be done at once. The calls that wait fail, and arrive no more.
func (g *Gate) Open() {
	g.mu.Lock()
	g.open = true
	calls := g.calls
	g.calls = nil
	g.mu.Unlock()
	for _, c := range calls {
		if !c.left.Load() {
			c.answer <- ErrCut
		}
	}
	synctest.Wait()
}

// Close ends all goroutines of the run. It closes the gate, and only then cancels their contexts: a goroutine that goes
// on finds the run closed, and writes nothing that another goroutine reads.
func (g *Gate) Close(cancels ...context.CancelFunc) {
	close(g.closed)
	for _, cancel := range cancels {
		cancel()
	}
	g.group.Wait()
}
