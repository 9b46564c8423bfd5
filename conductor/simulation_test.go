package conductor_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
)

var (
	simulationSeed = flag.Uint64("simulation.seed", 0, "run the simulation of this seed alone, and print what happens")
	simulations    = flag.Int("simulation.count", 60, "how many simulations are run")
)

// TestSimulation runs conductors on virtual time, with a store and a membership that
// fail in every way that a network and an etcd can, hardware that fails and hangs, and
// clients that ask for anything; and checks the rules of [world.check]. Repeat a failure
// with -simulation.seed.
func TestSimulation(t *testing.T) {
	if *simulationSeed != 0 {
		synctest.Test(t, func(t *testing.T) { simulate(t, *simulationSeed) })
		return
	}
	count := *simulations
	if testing.Short() {
		count /= 10
	}
	for seed := uint64(1); seed <= uint64(count); seed++ {
		synctest.Test(t, func(t *testing.T) { simulate(t, seed) })
		if t.Failed() {
			t.Fatalf("repeat it with: go test -run TestSimulation -simulation.seed=%d", seed)
		}
	}
}

// world is what the conductors of a simulation share.
type world struct {
	t       *testing.T
	memory  conductor.Memory
	members simMembers

	mu     sync.Mutex
	random *rand.Rand
	cut    map[string]bool // conductors that reach neither store nor members
	calm   bool            // nothing fails any more
	busy   map[string]string
	begun  map[string]bool // steps that were begun, by node, time of the work and name
}

// chance returns true with a probability in percent, while things may fail.
func (w *world) chance(percent int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.calm && w.random.IntN(100) < percent
}

func (w *world) upTo(d time.Duration) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Duration(w.random.Int64N(int64(d)))
}

func (w *world) isCut(name string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.cut[name]
}

func (w *world) log(format string, args ...any) {
	if *simulationSeed == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	fmt.Printf("%s  %s\n", time.Now().Format("04:05.000"), fmt.Sprintf(format, args...))
}

func (w *world) failf(format string, args ...any) {
	w.log("FAILED: "+format, args...)
	w.t.Errorf(format, args...)
}

// stored checks a write of a node's record: each state follows from the one before by a
// row of the table, nobody writes over the work of another that is alive, and no work
// loses its reservation without an end.
func (w *world) stored(by string, before, after conductor.Record) {
	old, now := w.decode(before), w.decode(after)
	if old.ProvisionState != now.ProvisionState {
		w.log("%s: node %s %s -> %s (reserved by %q)", by, now.Name, old.ProvisionState, now.ProvisionState, now.Reservation)
		if !follows(old.ProvisionState, now.ProvisionState) {
			w.failf("node %s: %q was stored after %q by %s", now.Name, now.ProvisionState, old.ProvisionState, by)
		}
	}
	works := old.Reservation != "" && !strings.HasSuffix(old.Claim, "/power")
	if works && now.Reservation == "" && old.ProvisionState == now.ProvisionState && states.Latest().Table().Stuck().Has(old.ProvisionState) {
		w.failf("node %s: %s dropped the reservation of %s without an end of the work", now.Name, by, old.Reservation)
	}
	if old.Claim != "" && now.Claim != old.Claim && old.Reservation != by {
		if alive, _ := w.alive(old.Claim); alive {
			w.failf("node %s: %s took the reservation of %s, which is alive", now.Name, by, old.Reservation)
		}
	}
}

func (w *world) alive(claim string) (bool, error) {
	w.members.mu.Lock()
	defer w.members.mu.Unlock()
	_, ok := w.members.members[strings.TrimSuffix(claim, "/power")]
	return ok, nil
}

func (w *world) decode(r conductor.Record) *conductor.Node {
	n, err := conductor.DecodeNode(r)
	require.NoError(w.t, err)
	return n
}

// follows reports whether one transition leads from a state to another; or two, an
// abort of a service.
func follows(from, to states.State) bool {
	for row := range states.Latest().Table().Transitions() {
		if row.From == from && row.To == to {
			return true
		}
	}
	return (from == states.ServiceWait || from == states.ServiceHold) && to == states.Active
}

// operate is the hardware of one conductor: it takes its time, fails, hangs until it is
// given up, waits, and notices when another conductor works on the same node.
func (w *world) operate(by string) func(context.Context, *conductor.Node, string) error {
	return func(ctx context.Context, n *conductor.Node, operation string) error {
		if operation == "read power" {
			return nil
		}
		w.mu.Lock()
		other, ok := w.busy[n.UUID]
		w.busy[n.UUID] = by
		step := fmt.Sprint(n.UUID, n.ProvisionUpdatedAt, operation)
		again := strings.Contains(operation, ".") && w.begun[step]
		w.begun[step] = true
		w.mu.Unlock()
		if ok {
			w.failf("node %s: %s does %s while %s works on it", n.Name, by, operation, other)
		}
		if again {
			w.failf("node %s: %s begins %s again in the same work", n.Name, by, operation)
		}
		defer func() {
			w.mu.Lock()
			delete(w.busy, n.UUID)
			w.mu.Unlock()
		}()
		w.log("%s: node %s %s", by, n.Name, operation)
		sleep(ctx, w.upTo(4*time.Second))
		switch {
		case w.chance(2):
			sleep(ctx, 10*time.Minute)
			return ctx.Err()
		case w.chance(15):
			return errors.New("the hardware fails")
		case w.chance(15):
			return conductor.ErrWait
		}
		return ctx.Err()
	}
}

// simulate runs one history.
func simulate(t *testing.T, seed uint64) {
	w := &world{
		t: t, random: rand.New(rand.NewPCG(seed, 1)), cut: map[string]bool{}, busy: map[string]string{}, begun: map[string]bool{},
	}
	w.members.members = map[string]conductor.Member{}
	w.members.update(func() {})
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	defer func() { cancel(); group.Wait() }()

	names := []string{"alpha", "beta", "gamma"}[:1+w.random.IntN(3)]
	crews := map[string]*simConductor{}
	for _, name := range names {
		crews[name] = &simConductor{world: w, name: name}
		crews[name].start(ctx, &group)
	}
	nodes := w.populate(ctx)
	for range 2 {
		group.Go(func() { w.ask(ctx, crews, names, nodes) })
	}
	w.trouble(ctx, crews, names, &group)
	w.mu.Lock()
	w.calm = true
	clear(w.cut)
	w.mu.Unlock()
	time.Sleep(time.Hour) // every wait has timed out
	w.check(nodes)
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
			Name: fmt.Sprint(i), Driver: "fake-hardware", ProvisionState: states.Enroll, Power: states.PowerOff,
		})
		require.NoError(w.t, err)
		nodes = append(nodes, n)
	}
	return nodes
}

// ask is a client: it requests what the node's state lets it, of any conductor.
func (w *world) ask(ctx context.Context, crews map[string]*simConductor, names []string, nodes []*conductor.Node) {
	table := states.Latest().Table()
	version := states.Latest().MaxAPIVersion()
	for ctx.Err() == nil {
		sleep(ctx, w.upTo(10*time.Second))
		w.mu.Lock()
		if w.calm {
			w.mu.Unlock()
			return
		}
		c := crews[names[w.random.IntN(len(names))]]
		n := nodes[w.random.IntN(len(nodes))]
		dice := w.random.IntN(100)
		w.mu.Unlock()
		n, err := c.get().Node(ctx, n.UUID)
		if err != nil {
			continue
		}
		what := "power"
		switch {
		case dice < 10:
			err = c.get().SetPower(ctx, n.UUID, states.PowerOn, 0)
		case dice < 20 && table.Phase(n.ProvisionState) == states.PhaseWaiting:
			what, err = "resume", c.get().Resume(ctx, n.UUID, nil)
		case dice < 25:
			what = "update"
			_, err = c.get().UpdateNode(ctx, n.UUID, func(n *conductor.Node) error { n.Maintenance = dice == 24; return nil })
		default:
			words := slices.Collect(table.Requests(n.ProvisionState, version))
			if len(words) == 0 {
				continue
			}
			what = words[dice%len(words)]
			step := []conductor.StepRequest{{Interface: "raid", Step: "delete_configuration"}, {Interface: "bios", Step: "factory_reset"}}
			err = c.get().Provision(ctx, n.UUID, conductor.ProvisionRequest{
				Target: what, Version: version, CleanSteps: step, ServiceSteps: step, RescuePassword: "x",
			})
		}
		w.log("client: node %s %s at %s by %s: %v", n.Name, what, n.ProvisionState, c.name, err)
	}
}

// trouble cuts conductors off and kills them, for half an hour.
func (w *world) trouble(ctx context.Context, crews map[string]*simConductor, names []string, group *sync.WaitGroup) {
	for end := time.Now().Add(30 * time.Minute); time.Now().Before(end); {
		time.Sleep(w.upTo(2 * time.Minute))
		w.mu.Lock()
		name := names[w.random.IntN(len(names))]
		dice, lasts := w.random.IntN(3), time.Duration(w.random.Int64N(int64(time.Minute)))
		if dice == 0 {
			w.cut[name] = true
		}
		w.mu.Unlock()
		switch dice {
		case 0:
			w.log("%s is cut off for %v", name, lasts)
			time.Sleep(lasts)
			w.mu.Lock()
			delete(w.cut, name)
			w.mu.Unlock()
			w.log("%s is back", name)
		case 1: // dies: it can write nothing any more
			w.log("%s dies for %v", name, lasts)
			w.mu.Lock()
			w.cut[name] = true
			w.mu.Unlock()
			crews[name].kill()
			time.Sleep(lasts + 2*lease)
			w.mu.Lock()
			delete(w.cut, name)
			w.mu.Unlock()
			crews[name].start(ctx, group)
			w.log("%s starts", name)
		}
	}
}

// check tells whether everything rests in the end: no node is reserved, is in a state
// with work or waits, or has a target power state.
func (w *world) check(nodes []*conductor.Node) {
	table := states.Latest().Table()
	for _, n := range nodes {
		r, err := w.memory.Get(context.Background(), conductor.KindNode, n.UUID)
		require.NoError(w.t, err)
		n := w.decode(r)
		if n.Reservation != "" || n.TargetPower != states.NoPower || table.Stuck().Has(n.ProvisionState) || table.Phase(n.ProvisionState) == states.PhaseWaiting && !n.Maintenance {
			w.failf("node %s does not rest: %q, reserved by %q, power on its way to %q", n.Name, n.ProvisionState, n.Reservation, n.TargetPower)
		}
	}
}
