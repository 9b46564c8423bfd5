// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/ironstate/ironstate/internal/sleep"
)

// faults injects faults that a seed determines: one stream of faults into the
// conductors, and a concurrent one into the servers.
type faults struct {
	*cluster
	life     context.Context // the context of the restarted processes
	count    atomic.Int64
	progress progress
}

// run injects faults until the context ends.
func (f *faults) run(ctx context.Context, seed uint64) {
	streams := [][]func(context.Context, *rand.Rand){
		{f.killConductor, f.endConductor, f.stopConductor, f.stopConductor, f.cutConductor, f.cutConductor, f.cutOne},
		{f.killServer, f.stopServer, f.cutServer, f.cutServer, f.loseMajority},
	}
	if len(f.servers) == 0 {
		streams = [][]func(context.Context, *rand.Rand){{f.killConductor, f.endConductor, f.stopConductor, f.loseMajority}}
	}
	var both sync.WaitGroup
	for stream, faults := range streams {
		both.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(stream)))
			for ctx.Err() == nil {
				sleep.For(ctx, between(random, 500*time.Millisecond, 4*time.Second))
				if ctx.Err() == nil {
					f.count.Add(1)
					faults[random.IntN(len(faults))](ctx, random)
				}
			}
		})
	}
	both.Wait()
}

// between returns a random time from least up to most.
func between(random *rand.Rand, least, most time.Duration) time.Duration {
	return least + time.Duration(random.Int64N(int64(most-least)))
}

// leaseTime returns a random time from a quarter of a lease to two leases.
func (f *faults) leaseTime(random *rand.Rand) time.Duration {
	return between(random, f.lease/4, 2*f.lease)
}

// interrupt sends a signal that stops or ends processes, and resumes them after a time.
func (f *faults) interrupt(ctx context.Context, s syscall.Signal, duration time.Duration, all ...*process) {
	for _, p := range all {
		f.progress("%v: %s for %v", s, p.name, duration.Round(time.Millisecond))
		exited := p.signal(s)
		if s != syscall.SIGSTOP {
			<-exited
		}
	}
	sleep.For(ctx, duration)
	// A starting process needs the servers, which the other stream may have stopped.
	for _, p := range all {
		_ = p.resume(f.life)
		f.progress("%s runs again", p.name)
	}
}

func (f *faults) killConductor(ctx context.Context, random *rand.Rand) {
	f.interrupt(ctx, syscall.SIGKILL, f.leaseTime(random), f.anyConductor(random).process)
}

func (f *faults) endConductor(ctx context.Context, random *rand.Rand) {
	f.interrupt(ctx, syscall.SIGTERM, between(random, 0, f.lease), f.anyConductor(random).process)
}

func (f *faults) stopConductor(ctx context.Context, random *rand.Rand) {
	f.interrupt(ctx, syscall.SIGSTOP, between(random, f.lease/4, 3*f.lease), f.anyConductor(random).process)
}

func (f *faults) anyConductor(random *rand.Rand) *conductorProcess {
	return f.conductors[random.IntN(len(f.conductors))]
}

func (f *faults) killServer(ctx context.Context, random *rand.Rand) {
	f.interrupt(ctx, syscall.SIGKILL, between(random, 0, f.lease), f.servers[random.IntN(len(f.servers))].process)
}

func (f *faults) stopServer(ctx context.Context, random *rand.Rand) {
	f.interrupt(ctx, syscall.SIGSTOP, f.leaseTime(random), f.servers[random.IntN(len(f.servers))].process)
}

// loseMajority kills or stops two of the three servers for at most a lease.
func (f *faults) loseMajority(ctx context.Context, random *rand.Rand) {
	s := []syscall.Signal{syscall.SIGKILL, syscall.SIGSTOP}[random.IntN(2)]
	var all []*process
	for _, server := range f.servers {
		all = append(all, server.process)
	}
	if len(all) == 0 { // each conductor is a server
		all = f.processes()
	}
	first := random.IntN(len(all))
	second := (first + 1 + random.IntN(len(all)-1)) % len(all)
	f.interrupt(ctx, s, between(random, 0, f.lease), all[first], all[second])
}

// cut cuts links for a random time; who names the process in the output.
func (f *faults) cut(ctx context.Context, random *rand.Rand, who string, links []*link) {
	m := []mode{dropped, refused}[random.IntN(2)]
	duration := f.leaseTime(random)
	effects := [...]string{dropped: "connections hang", refused: "connections are refused"}
	f.progress("%s is cut off for %v, %s", who, duration.Round(time.Millisecond), effects[m])
	for _, l := range links {
		l.set(m)
	}
	sleep.For(ctx, duration)
	for _, l := range links {
		l.set(open)
	}
	f.progress("%s is connected again", who)
}

func (f *faults) cutConductor(ctx context.Context, random *rand.Rand) {
	i := random.IntN(len(f.conductors))
	f.cut(ctx, random, f.conductors[i].name, f.toServer[i])
}

// cutOne cuts a conductor off from one server.
func (f *faults) cutOne(ctx context.Context, random *rand.Rand) {
	i, j := random.IntN(len(f.conductors)), random.IntN(len(f.servers))
	f.cut(ctx, random, f.conductors[i].name+" from "+f.servers[j].name, f.toServer[i][j:j+1])
}

// cutServer cuts a server off from the others, and in half of the cases also from the
// conductors.
func (f *faults) cutServer(ctx context.Context, random *rand.Rand) {
	i := random.IntN(len(f.servers))
	var links []*link
	for j := range f.servers {
		if j != i {
			links = append(links, f.toPeer[i][j], f.toPeer[j][i])
		}
	}
	who := f.servers[i].name + " from its peers"
	if random.IntN(2) == 0 {
		who = f.servers[i].name
		for _, conductor := range f.toServer {
			links = append(links, conductor[i])
		}
	}
	f.cut(ctx, random, who, links)
}
