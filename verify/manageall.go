package verify

import (
	"context"
	"errors"
	"iter"
	"sync"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

// ErrAtOnce: the number of verifications at once is below 1.
var ErrAtOnce = errors.New("at least one verification at once is needed")

// Job is a node to be managed.
type Job struct {
	Machine  *machine.Machine
	Verifier Verifier
}

// Result is what [Manage] returned for a Job.
type Result struct {
	Job
	Power states.Power
	Err   error
}

// ManageAll runs [Manage] for many nodes, at most atOnce at a time, and tells each
// result as it comes. Memory and goroutines grow with atOnce, not with the jobs,
// which are ranged over as they are needed.
//
// The calls of done come one after the other; a slow one holds up the rest. It
// may be nil. Once the context ends no further job is begun, those under way end
// as Manage has it, and the context's error is returned. ManageAll returns when
// all that it began has ended.
func ManageAll(ctx context.Context, jobs iter.Seq[Job], atOnce int, done func(Result)) error {
	switch {
	case atOnce < 1:
		return ErrAtOnce
	case jobs == nil:
		return nil
	}
	var (
		workers sync.WaitGroup
		telling sync.Mutex
		queue   = make(chan Job)
	)
	defer workers.Wait()
	defer close(queue)
	work := func() {
		for job := range queue {
			power, err := Manage(ctx, job.Machine, job.Verifier)
			if done != nil {
				tell(&telling, done, Result{job, power, err})
			}
		}
	}

	begun := 0
	for job := range jobs {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if begun < atOnce {
			begun++
			workers.Add(1)
			go func() {
				defer workers.Done()
				work()
			}()
		}
		select {
		case queue <- job:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func tell(telling *sync.Mutex, done func(Result), r Result) {
	telling.Lock()
	defer telling.Unlock()
	done(r)
}
