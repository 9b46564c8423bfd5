package conductor_test

import (
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/states"
)

var (
	simulationSeed = flag.Uint64("simulation.seed", 0, "run the simulation of this seed alone, and print what happens")
	simulations    = flag.Int("simulation.count", 60, "how many simulations are run")
	firstSeed      = flag.Uint64("simulation.first", 1, "the seed of the first of them")
)

// TestSimulation runs conductors on virtual time, with a store and a membership that
// fail in every way that a network and an etcd can, hardware that fails and hangs, and
// clients that ask for anything; and checks the rules of [world.check]. Repeat a failure
// with -simulation.seed.
func TestSimulation(t *testing.T) {
	if *simulationSeed != 0 {
		synctest.Test(t, func(t *testing.T) { simulate(t, *simulationSeed, printed) })
		return
	}
	count := uint64(*simulations)
	if testing.Short() {
		count /= 10
	}
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // what a history leaves behind is soon of no use
	var begun atomic.Uint64
	var failed atomic.Bool
	begin := time.Now()
	t.Run("histories", func(t *testing.T) {
		for range runtime.GOMAXPROCS(0) {
			t.Run("", func(t *testing.T) {
				t.Parallel()
				for i := begun.Add(1); i <= count && !failed.Load(); i = begun.Add(1) {
					if !succeeds(t, *firstSeed+i-1) {
						failed.Store(true)
					}
				}
			})
		}
	})
	t.Logf("%d histories, %.0f a minute", count, float64(count)/time.Since(begin).Minutes())
}

// succeeds runs one history, and says how to repeat it where that has failed.
func succeeds(t *testing.T, seed uint64) bool {
	return t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
		defer func() { // synctest ends the test where the bubble's has failed
			if t.Failed() {
				t.Logf("repeat it with: go test -run 'TestSimulation$' -simulation.seed=%d", seed)
			}
		}()
		synctest.Test(t, func(t *testing.T) { simulate(t, seed, nil) })
	})
}

// TestASimulationIsRepeatedByItsSeed compares all that happens in a history with all that
// happens when its seed is run again.
func TestASimulationIsRepeatedByItsSeed(t *testing.T) {
	for seed := range uint64(3) {
		var told [2][]string
		for i := range told {
			synctest.Test(t, func(t *testing.T) {
				simulate(t, seed+1, func(line string) { told[i] = append(told[i], line) })
			})
		}
		require.Greater(t, len(told[0]), 100)
		slices.Sort(told[0]) // they begin with the time
		slices.Sort(told[1])
		require.Equal(t, told[0], told[1])
	}
}

func printed(line string) { fmt.Println(line) }

// world is what the conductors of a simulation share.
type world struct {
	t       *testing.T
	seed    uint64
	tell    func(line string) // nil for nobody; called with the lock held
	memory  conductor.Memory
	members simMembers
	writing sync.Mutex // for a write and its check

	mu    sync.Mutex
	cut   map[string]time.Time // since when conductors have reached neither store nor members
	calm  bool                 // nothing fails any more
	busy  map[string]string
	begun map[string]map[string]bool // steps that the work at hand has begun, by node and name
	nodes map[int64]simNode          // as they were stored, by revision
}

// draw returns a number below n that depends on the seed, the time and what it is for, and
// on nothing else: not on the order in which goroutines run that do something at the same
// time.
func (w *world) draw(n int64, of ...string) int64 {
	var key [16]byte
	binary.LittleEndian.PutUint64(key[:], w.seed)
	binary.LittleEndian.PutUint64(key[8:], uint64(time.Now().UnixNano()))
	var hash xxhash.Digest
	hash.Reset()
	_, _ = hash.Write(key[:])
	for _, part := range of {
		_, _ = hash.WriteString(part)
		_, _ = hash.WriteString("\x00")
	}
	return int64(hash.Sum64() % uint64(n))
}

// chance returns true with a probability in percent, while things may fail.
func (w *world) chance(percent int64, of ...string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.calm && w.draw(100, of...) < percent
}

func (w *world) upTo(d time.Duration, of ...string) time.Duration {
	return time.Duration(w.draw(int64(d), of...))
}

func (w *world) isCut(name string) bool { return !w.cutSince(name).IsZero() }

// cutSince returns since when a conductor is cut off, zero where it is not.
func (w *world) cutSince(name string) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.cut[name]
}

// setCut cuts a conductor off, or ends that.
func (w *world) setCut(name string, cut bool) {
	w.members.update(func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.cut, name)
		if cut {
			w.cut[name] = time.Now()
		}
	})
}

func (w *world) log(format string, args ...any) {
	if w.tell == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tell(time.Now().Format("04:05.000000000  ") + fmt.Sprintf(format, args...))
}

func (w *world) failf(format string, args ...any) {
	w.log("FAILED: "+format, args...)
	w.t.Errorf(format, args...)
}

// The times of a history, in which things fail until it is calm.
const (
	troubled    = 30 * time.Minute
	waitTimeout = 10 * time.Minute
	hang        = 10 * time.Minute // of hardware
	rest        = 2*max(waitTimeout, hang) + 10*time.Minute
)

// simulate runs one history.
func simulate(t *testing.T, seed uint64, tell func(string)) {
	w := &world{
		t: t, seed: seed, tell: tell, cut: map[string]time.Time{}, busy: map[string]string{}, begun: map[string]map[string]bool{},
		nodes: map[int64]simNode{},
	}
	w.members.members = map[string]conductor.Member{}
	w.members.update(func() {})
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	defer func() { cancel(); group.Wait() }()

	names := []string{"alpha", "beta", "gamma"}[:1+w.draw(3, "conductors")]
	crews := map[string]*simConductor{}
	for _, name := range names {
		crews[name] = &simConductor{world: w, name: name}
		crews[name].start(ctx, &group)
	}
	nodes := w.populate(ctx)
	for _, name := range []string{"first", "second"} {
		c := &simClient{world: w, name: name, crews: crews, names: names, nodes: nodes}
		group.Go(func() { c.ask(ctx) })
	}
	w.trouble(ctx, crews, names, &group)
	w.calmDown(names)
	time.Sleep(rest) // every wait has timed out
	w.check(nodes)
}

func (w *world) calmDown(names []string) {
	for _, name := range names {
		w.setCut(name, false)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calm = true
}

// simConductor is a conductor that may die and be started anew.
type simConductor struct {
	*world
	name string

	mu      sync.Mutex
	current *conductor.Conductor
	kill    context.CancelFunc
}

func (s *simConductor) get() *conductor.Conductor {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current
}

func (s *simConductor) start(ctx context.Context, group *sync.WaitGroup) {
	c, err := conductor.New(conductor.Config{
		Store: &simStore{s.world, s.name}, Membership: &simMembership{s.world, s.name}, Name: s.name,
		Hardware:        map[string]conductor.Hardware{"fake-hardware": &conductor.Fake{Before: s.operate(s.name)}},
		ShutdownTimeout: time.Second, LockedRetries: 1,
		Timeouts: &machine.Timeouts{Deploy: waitTimeout, Clean: waitTimeout, Inspect: waitTimeout, Rescue: waitTimeout, Service: waitTimeout},
		// The periodic tasks do not run at the same moment, where the seed could not tell their order.
		CheckInterval: 61 * time.Second, Power: powersync.Config{Interval: 127 * time.Second, RecoveryInterval: 307 * time.Second},
	})
	require.NoError(s.t, err)
	run, kill := context.WithCancel(ctx)
	s.mu.Lock()
	s.current, s.kill = c, kill
	s.mu.Unlock()
	group.Go(func() { _ = c.Run(run) })
}

// populate stores the nodes.
func (w *world) populate(ctx context.Context) []*conductor.Node {
	seed, err := conductor.New(conductor.Config{Store: &w.memory, Name: "seed", Hardware: map[string]conductor.Hardware{"fake-hardware": &conductor.Fake{}}})
	require.NoError(w.t, err)
	var nodes []*conductor.Node
	for i := range 4 {
		n, err := seed.CreateNode(ctx, &conductor.Node{
			UUID: fmt.Sprintf("%08x-0000-4000-8000-%012x", w.seed, i), // decides which conductor owns it
			Name: fmt.Sprint(i), Driver: "fake-hardware", ProvisionState: states.Enroll, Power: states.PowerOff,
		})
		require.NoError(w.t, err)
		nodes = append(nodes, n)
	}
	return nodes
}

// trouble cuts conductors off and kills them.
func (w *world) trouble(ctx context.Context, crews map[string]*simConductor, names []string, group *sync.WaitGroup) {
	for end := time.Now().Add(troubled); time.Now().Before(end); {
		time.Sleep(w.upTo(2*time.Minute, "until the next trouble"))
		name := names[w.draw(int64(len(names)), "in trouble")]
		lasts := w.upTo(time.Minute, "trouble lasts")
		switch w.draw(3, "trouble") {
		case 0:
			w.log("%s is cut off for %v", name, lasts)
			w.setCut(name, true)
			time.Sleep(lasts)
			w.setCut(name, false)
			w.log("%s is back", name)
		case 1: // dies: it can write nothing any more
			w.log("%s dies for %v", name, lasts)
			w.setCut(name, true)
			crews[name].kill()
			time.Sleep(lasts + 2*lease)
			w.setCut(name, false)
			crews[name].start(ctx, group)
			w.log("%s starts", name)
		}
	}
}
