// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"maps"
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
	"github.com/ironstate/ironstate/conductor/agent"
	"github.com/ironstate/ironstate/internal/bubble"
	"github.com/ironstate/ironstate/internal/needs"
	"github.com/ironstate/ironstate/internal/sleep"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/states"
)

var (
	simulationSeed = flag.Uint64("simulation.seed", 0, "run only the history of this seed and print its events")
	simulations    = flag.Int("simulation.count", 0, "the number of histories to run; 0 stands for 6, with "+needs.Variable+"=systems for 60")
	firstSeed      = flag.Uint64("simulation.first", 1, "the seed of the first history")
)

// TestSimulation runs conductors on virtual time, with a store and a membership that fail as a
// network and etcd can fail, hardware that fails and hangs, and clients that send any request.
// It checks the [promiseChecks]. Repeat a failed
// history with -simulation.seed.
func TestSimulation(t *testing.T) {
	if *simulationSeed != 0 {
		synctest.Test(t, func(t *testing.T) { simulate(t, *simulationSeed, printed) })
		return
	}
	count := uint64(histories())
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // the garbage of a history is short-lived
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

// histories returns the number of histories to run.
func histories() int {
	switch {
	case *simulations > 0:
		return *simulations
	case needs.Asked(needs.Systems):
		return 60
	}
	return 6
}

// succeeds runs one history. If it fails, succeeds logs the command that repeats it.
func succeeds(t *testing.T, seed uint64) bool {
	return t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
		defer func() { // deferred, since synctest ends this test when the bubble's test has failed
			if t.Failed() {
				t.Logf("repeat it with: go test -run 'TestSimulation$' -simulation.seed=%d", seed)
			}
		}()
		synctest.Test(t, func(t *testing.T) { simulate(t, seed, nil) })
	})
}

// TestASimulationIsRepeatedByItsSeed compares the events of two runs of the same seed. It is a search, since the seed
// does not determine the order of simultaneous tasks.
func TestASimulationIsRepeatedByItsSeed(t *testing.T) {
	needs.Chance(t)
	for seed := range uint64(3) {
		var lines [2][]string
		for i := range lines {
			synctest.Test(t, func(t *testing.T) {
				simulate(t, seed+1, func(line string) { lines[i] = append(lines[i], line) })
			})
		}
		require.Greater(t, len(lines[0]), 100)
		slices.Sort(lines[0]) // each line begins with its time
		slices.Sort(lines[1])
		require.Equal(t, lines[0], lines[1])
	}
}

func printed(line string) { fmt.Println(line) }

// world is the shared state of a simulation.
type world struct {
	*promiseChecks
	t       *testing.T
	seed    uint64
	emit    func(line string) // receives each event, may be nil; called with the lock held
	memory  conductor.Memory
	members simMembers
	clocks  simClocks
	writing sync.Mutex // held during a write and its check

	mu     sync.Mutex
	cut    map[string]time.Time // since when a conductor is cut off from store and members
	until  map[string]time.Time // until when a conductor is stopped
	calm   bool                 // true once the faults have ended
	agents map[string]*simAgent // by the node's UUID
}

// draw returns a pseudo-random number below n that depends only on the seed, the virtual time
// and the purpose in of. It does not depend on the order in which goroutines run.
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

// chance returns true with a probability in percent, and false once the faults have ended.
func (w *world) chance(percent int64, of ...string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.calm && w.draw(100, of...) < percent
}

func (w *world) upTo(d time.Duration, of ...string) time.Duration {
	return time.Duration(w.draw(int64(d), of...))
}

func (w *world) isCut(name string) bool { return !w.cutSince(name).IsZero() }

// cutSince returns since when a conductor is cut off, or zero if it is not.
func (w *world) cutSince(name string) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.cut[name]
}

// setCut cuts a conductor off or reconnects it.
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
	if w.emit == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.emit(time.Now().Format("04:05.000000000  ") + fmt.Sprintf(format, args...))
}

func (w *world) failf(format string, args ...any) {
	w.log("FAILED: "+format, args...)
	w.t.Errorf(format, args...)
}

// The durations of a history: first with faults, then without.
const (
	troubled    = 30 * time.Minute
	waitTimeout = 10 * time.Minute
	hang        = 10 * time.Minute // how long hardware hangs
	rest        = 2*max(waitTimeout, hang) + 10*time.Minute
)

// simulate runs one history.
func simulate(t *testing.T, seed uint64, emit func(string)) { simulateClocks(t, seed, emit, nil) }

// simulateClocks runs one history in which conductors have clocks of their own.
func simulateClocks(t *testing.T, seed uint64, emit func(string), clocks simClocks) {
	w := &world{
		t: t, seed: seed, emit: emit, clocks: clocks, cut: map[string]time.Time{}, until: map[string]time.Time{},
		agents: map[string]*simAgent{},
	}
	w.promiseChecks = w.promise()
	w.members.members = map[string]conductor.Member{}
	w.members.update(func() {})
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	defer func() { cancel(); group.Wait() }()

	names := []string{"alpha", "beta", "gamma"}[:1+w.draw(3, "conductors")]
	conductors := map[string]*simConductor{}
	for _, name := range names {
		conductors[name] = &simConductor{world: w, name: name}
		conductors[name].start(ctx, &group)
	}
	nodes := w.populate(ctx, names)
	booted, endAgents := context.WithCancel(ctx)
	w.startAgents(booted, &group, conductors, names, nodes)
	for _, name := range []string{"first", "second"} {
		c := &simClient{world: w, name: name, conductors: conductors, names: names, nodes: nodes}
		group.Go(func() { c.ask(ctx) })
	}
	w.trouble(ctx, conductors, names, &group)
	w.calmDown(names)
	time.Sleep(rest + clocks.most()) // every wait has timed out
	endAgents()
	bubble.Sleep(time.Second) // each conductor has heard of their last heartbeats
	w.check(nodes)
	stored, err := w.memory.List(ctx, conductor.KindNode, "", 1000)
	require.NoError(t, err)
	for name, c := range conductors {
		requireCounted(t, conductor.IndexOf(c.get()))
		w.indexed(name, c.get(), stored)
	}
}

// stop stops a conductor for a time, as SIGSTOP does: until then its goroutines do not return from
// any call of the store, the membership or the hardware. It may have one operation in flight for each
// node, which other conductors do not wait for.
func (w *world) stop(name string, lasts time.Duration) {
	w.log("%s is stopped for %v", name, lasts)
	expires := lease + w.upTo(time.Second, name, "is seen to leave")
	w.mu.Lock()
	defer w.mu.Unlock()
	begin := time.Now()
	w.until[name] = begin.Add(lasts)
	w.suspended(name)
	time.AfterFunc(expires, func() {
		w.mu.Lock()
		expired := w.until[name].Equal(begin.Add(lasts)) && lasts > expires
		w.mu.Unlock()
		if expired {
			w.members.update(func() {
				maps.DeleteFunc(w.members.members, func(_ string, m conductor.Member) bool { return m.Hostname == name })
			})
		}
	})
}

// whileStopped waits until a conductor is not stopped.
func (w *world) whileStopped(name string, purpose ...string) {
	for {
		w.mu.Lock()
		left := time.Until(w.until[name])
		w.mu.Unlock()
		if left < 0 {
			return
		}
		time.Sleep(left + 1 + w.upTo(10*time.Millisecond, append(purpose, name, "resumes")...))
	}
}

func (w *world) calmDown(names []string) {
	for _, name := range names {
		w.setCut(name, false)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calm = true
}

// simConductor is a conductor that can be killed and restarted.
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
		Store: s.clocks.store(&simStore{s.world, s.name}), Membership: &simMembership{s.world, s.name}, Name: s.name,
		Hardware:        simTypes(simHardware{&conductor.Fake{Before: s.operate(s.name)}, s.world}, s.name),
		Agent:           agent.Config{Dial: s.dial(s.name)},
		RequireAgentTLS: new(bool),
		OnTransition: s.reports(s.name, func(t conductor.Transition) {
			sleep.For(ctx, s.upTo(4*time.Second, s.name, t.Node.UUID, t.String(), "is reported"))
		}),
		ShutdownTimeout: time.Second, LockedRetries: 1, MaxTransitions: simTransitions,
		Timeouts: &machine.Timeouts{Deploy: waitTimeout, Clean: waitTimeout, Inspect: waitTimeout, Rescue: waitTimeout, Service: waitTimeout},
		// The periods are coprime, since the seed does not determine the order of simultaneous tasks.
		CheckInterval: 61 * time.Second, Power: powersync.Config{Interval: 127 * time.Second, RecoveryInterval: 307 * time.Second},
	})
	require.NoError(s.t, err)
	run, kill := context.WithCancel(ctx)
	s.mu.Lock()
	s.current, s.kill = c, kill
	s.mu.Unlock()
	group.Go(func() { _ = c.Run(run) })
}

// simTypes returns the hardware types of conductors: one that all conductors have, and one for each
// name.
func simTypes(hardware conductor.Hardware, names ...string) map[string]conductor.Hardware {
	types := map[string]conductor.Hardware{"fake-hardware": hardware}
	for _, name := range names {
		types["fake-"+name] = hardware
	}
	return types
}

// populate stores the nodes. About half of them have a hardware type that only one conductor has, and one of the two
// with an agent has fast track.
func (w *world) populate(ctx context.Context, names []string) []*conductor.Node {
	seed, err := conductor.New(conductor.Config{Store: &w.memory, Name: "seed", Hardware: simTypes(&conductor.Fake{}, names...)})
	require.NoError(w.t, err)
	var nodes []*conductor.Node
	for i := range 4 {
		driver := "fake-hardware"
		if w.draw(2, "driver", fmt.Sprint(i)) == 0 {
			driver = "fake-" + names[w.draw(int64(len(names)), "driver", fmt.Sprint(i), "of")]
		}
		n, err := seed.CreateNode(ctx, &conductor.Node{
			Interfaces:     map[string]string{"deploy": []string{"fake", "direct"}[i%2]},
			InstanceInfo:   instanceInfo(),
			DriverInfo:     map[string]any{"fast_track": i%4 == 1},
			UUID:           fmt.Sprintf("%08x-0000-4000-8000-%012x", w.seed, i), // decides which conductor owns it
			Name:           fmt.Sprint(i),
			Driver:         driver,
			ProvisionState: states.Enroll,
			Power:          states.PowerOff,
		})
		require.NoError(w.t, err)
		nodes = append(nodes, n)
	}
	return nodes
}

// trouble cuts off, stops and kills random conductors.
func (w *world) trouble(ctx context.Context, conductors map[string]*simConductor, names []string, group *sync.WaitGroup) {
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
		case 1: // the conductor dies: it is cut off first, so that it cannot write any more
			w.log("%s dies for %v", name, lasts)
			w.setCut(name, true)
			conductors[name].kill()
			time.Sleep(lasts + 2*lease)
			w.setCut(name, false)
			conductors[name].start(ctx, group)
			w.log("%s starts", name)
		default:
			w.stop(name, lasts)
			time.Sleep(lasts)
		}
	}
}
