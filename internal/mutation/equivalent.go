package main

import "fmt"

// equivalent lists the mutants that behave as the code does, so that no test can kill
// them, each with the reason.
var equivalent = []struct {
	reason  string
	mutants []string
}{
	{"no route has as many requests as the bound, in any series", []string{
		"machine/plan/routes.go planner.planResting: left <= longest => left < longest",
	}},
	{"of the shortest histories with as many failures, the first in the table has the fewest requests too, in every series so far", []string{
		"machine/plan/explain.go weigh: weight++ => removed",
	}},
	{"nobody goes by the context when the function has returned, for calls have one of their own; without cancel its timer ends a little later", []string{
		"powersync/emit.go Syncer.callBack: defer cancel() => removed",
		"powersync/hold.go Syncer.release: defer cancel() => removed",
		"powersync/set.go Syncer.reach: defer cancel() => removed",
	}},
	{"a revision need only be another one than those before it", []string{
		"powersync/memory.go Memory.put: m.changes++ => m.changes--",
	}},
	{"the interval is never 0: New puts the default in its place", []string{
		"powersync/run.go Syncer.Run: s.config.RecoveryInterval > 0 => s.config.RecoveryInterval >= 0",
		"powersync/syncer.go Syncer.round: interval > 0 => interval >= 0",
	}},
}

// equivalents returns the reasons of the list, by the mutant's String. Each one of the
// list must be among the mutants that there are.
func equivalents(all []mutant) (map[string]string, error) {
	exists := make(map[string]bool, len(all))
	for _, m := range all {
		exists[m.String()] = true
	}
	reasons := map[string]string{}
	for _, e := range equivalent {
		for _, name := range e.mutants {
			if !exists[name] {
				return nil, fmt.Errorf("%w: there is no mutant %s", errOutOfDate, name)
			}
			reasons[name] = e.reason
		}
	}
	return reasons, nil
}
