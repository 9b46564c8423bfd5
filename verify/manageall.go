package verify

import (
	"context"
	"iter"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

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

// ManageAll runs [Manage] for many nodes, at most atOnce at a time (below 1 is 1),
// and ranges over the results as they come. Memory and goroutines grow with
// atOnce, not with the jobs, which are ranged over as they are needed; nil has
// none.
//
// No further job is begun once the context ends, and the results of those under
// way still come: look at the context's error after the loop. When the loop is
// left, those under way are cancelled, and it ends when they have ended.
func ManageAll(ctx context.Context, jobs iter.Seq[Job], atOnce int) iter.Seq[Result] {
	return func(yield func(Result) bool) {
		if jobs == nil {
			return
		}
		ctx, cancel := context.WithCancel(ctx)
		next, stop := iter.Pull(jobs)
		ended := make(chan Result)
		running := 0
		defer func() {
			cancel()
			stop()
			for ; running > 0; running-- {
				<-ended
			}
		}()
		for more := true; ; {
			for more && running < max(atOnce, 1) && ctx.Err() == nil {
				var job Job
				if job, more = next(); more {
					running++
					go manageOne(ctx, job, ended)
				}
			}
			if running == 0 {
				return
			}
			r := <-ended
			running--
			if !yield(r) {
				return
			}
		}
	}
}

// manageOne manages the node of a job and sends the result.
func manageOne(ctx context.Context, job Job, ended chan<- Result) {
	r := Result{Job: job, Err: &machine.PanicError{}} // unless Manage returns: a hook ended the goroutine
	defer func() { ended <- r }()
	r.Power, r.Err = Manage(ctx, job.Machine, job.Verifier)
}
