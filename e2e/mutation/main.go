// SPDX-License-Identifier: Apache-2.0

// Mutation makes one change to the code of a package, a mutant, and runs the package's
// tests. If a test fails, the mutant is killed. A mutant that lives shows behaviour that
// no test checks, or code that is not needed.
//
//	go run ./e2e/mutation                      # all mutants
//	go run ./e2e/mutation -run '^machine/m'    # the mutants of some files
//	go run ./e2e/mutation -commit HEAD -n 20   # a sample, as in .ci/search chance
//
// Run it from the repository's root. One test binary of a package holds nearly all of
// its mutants, and each mutant is tried with the tests that reach it, the fastest first.
// This takes a fraction of a second per mutant. The mutants of conductor, conductor/api and conductor/hardware
// are tried with the tests of all three. CONTRIBUTING.md compares the program with gremlins.
//
// equivalent.txt lists the mutants that behave as the original code does, so that no test
// can kill them, with the reasons. The exit status is 1 if another mutant lives, or if a
// listed mutant is killed, does not compile or no longer exists.
package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"path"
	"regexp"
	"runtime"
	"slices"

	"github.com/ironstate/ironstate/internal/program"
	"github.com/ironstate/ironstate/internal/try"
)

func main() { program.Main("mutation", run) }

// target is a set of packages whose code is changed, and the tests that have to find each change.
type target struct {
	code  []string // folders
	tests []tests
}

// tests are the tests of one package.
type tests struct {
	folder string
	args   []string // of the test binary
	skip   string   // matches the names of the tests that are not run
}

// of returns the target of one package that its own tests check.
func of(folder string, args ...string) target {
	return target{[]string{folder}, []tests{{folder: folder, args: args}}}
}

// rapid uses a fixed seed, so that a mutant is killed every time or never. Shrinking a
// failure's input is not needed here.
var rapid = []string{"-rapid.seed=1", "-rapid.nofailfile", "-rapid.shrinktime=1ns"}

var targets = []target{
	of("machine", rapid...),
	of("states", rapid...),
	of("verify"),
	of("machine/admission"),
	of("machine/plan", rapid...),
	of("powersync", rapid...),
	{
		code: []string{
			"conductor",
			"conductor/api", "conductor/api/internal/drivers", "conductor/api/internal/fault", "conductor/api/internal/nodes",
			"conductor/api/internal/objects", "conductor/api/internal/patch", "conductor/api/internal/ramdisk",
			"conductor/api/internal/rest", "conductor/api/internal/schema", "conductor/api/internal/traits",
			"conductor/api/internal/wire",
			"conductor/hardware",
		},
		// The tests that are left out measure memory, which the mutants' code changes.
		tests: []tests{
			{"conductor", append([]string{"-simulation.count=5"}, rapid...), "Allocates10kB|DoesNotCopyTheFleet|TakesLittleMemory"},
			{"conductor/api", nil, "LessThan384MiB|AllBodiesTogether|LittleMemory"},
			{folder: "conductor/hardware", skip: "UnreachableBMC|Exchanges|RealProtocols"},
			{folder: "conductor/api/internal/objects"},
			{folder: "conductor/api/internal/patch"},
			{folder: "conductor/api/internal/rest"},
			{folder: "conductor/api/internal/schema"},
		},
	},
	{
		code: []string{"verify/bmc"},
		// The test that is left out logs in 200 times, which takes seconds.
		tests: []tests{{folder: "verify/bmc", skip: "AttemptsInARow"}},
	},
	of("verify/bmc/internal/retry"),
	of("verify/bmc/internal/failure", rapid...),
	of("verify/bmc/internal/guard"),
	of("verify/bmc/internal/ipmitool", "-test.parallel=8"),
	of("verify/bmc/internal/redfish"),
	of("conductor/hardware/bootimage"),
	of("conductor/hardware/images"),
	of("conductor/agent"),
	of("internal/abandoned"),
	of("conductor/internal/agentdeploy"),
	of("conductor/internal/agentimage"),
	of("conductor/internal/agentwork"),
	of("conductor/internal/configdrive"),
	of("conductor/internal/index", rapid...),
	of("conductor/internal/inorder"),
	of("conductor/internal/inspectionrules"),
	of("internal/kinds"),
	of("conductor/internal/latest", rapid...),
	of("conductor/internal/nodelog"),
	of("conductor/internal/raidconfig"),
	of("conductor/internal/sequence"),
	of("conductor/internal/workerpool"),
	of("conductor/etcd/internal/endpoint"),
	of("conductor/etcd/internal/zaplog"),
	{
		code: []string{"conductor/etcd", "conductor/etcd/embedded"},
		// The tests that are left out start clusters of servers, kill processes or wait for a lease, which takes seconds.
		tests: []tests{
			{folder: "conductor/etcd",
				skip: "StoreOnACluster|EachAPI|AProcess|OutlivesAServer|ServersWereKilled|PromisesOnACluster|LeaseIsRenewed$|ClientCertificates"},
			{folder: "conductor/etcd/embedded",
				skip: "Damaged|NoiseIn|Processes|ProcessDied|Certificates|ShareNoFolder|StartsAgain|IsRefused$|" +
					"TwoOfThree|IsReplaced|ItsLogIsKept$|NoSocket|NothingIsPrinted"},
		},
	},
}

var (
	errLived     = errors.New("mutants live that are not in equivalent.txt: add a test, or remove the code that it does not need")
	errOutOfDate = errors.New("the list in equivalent.txt is out of date")
)

func run(ctx context.Context, args []string, out, errOut io.Writer) error {
	flags := flag.NewFlagSet("mutation", flag.ContinueOnError)
	only := flags.String("run", "", "try the mutants whose line matches the `regexp`")
	commit := flags.String("commit", "",
		"sample by this `commit`: its hash is the seed, and mutants of the files that the commit touches come first")
	n := flags.Int("n", 20, "with -commit, the `number` of mutants of the files that the commit touches, and of the other files")
	workers := flags.Int("workers", 1, "how many packages are prepared, and then mutants tried, concurrently: 1 to the number of CPUs, or 2")
	verbose := flags.Bool("v", false, "print every mutant and its outcome")
	if err := program.Parse(flags, args, errOut); err != nil {
		return err
	}
	matches, err := regexp.Compile(*only)
	if err != nil {
		return program.Usagef("-run: %v", err)
	}
	if err := program.Between("workers", *workers, 1, max(2, runtime.NumCPU())); err != nil {
		return err
	}
	all, err := findAll(".", targets)
	if err != nil {
		return err
	}
	listed, err := equivalents(all)
	if err != nil {
		return err
	}
	var chosen []mutant
	for _, m := range all {
		if matches.MatchString(m.String()) {
			chosen = append(chosen, m)
		}
	}
	if *commit != "" {
		if chosen, err = sample(ctx, *commit, *n, chosen); err != nil {
			return err
		}
	}
	needed := slices.DeleteFunc(slices.Clone(targets), func(t target) bool {
		return !slices.ContainsFunc(chosen, func(m mutant) bool { return slices.Contains(t.code, path.Dir(m.file)) })
	})
	lab, err := newLab(ctx, ".", needed, *workers)
	if err != nil {
		return err
	}
	defer lab.close()
	report := &report{out: out, verbose: *verbose, listed: listed, counts: map[string]map[outcome]int{}}
	if err := lab.tryListed(ctx, chosen, *workers, listed, report.add); err != nil {
		return err
	}
	return report.end()
}

// findAll returns the mutants of packages.
func findAll(root string, targets []target) (all []mutant, err error) {
	err = try.Catch(func() {
		for _, t := range targets {
			all = append(all, findIn(sources(root, t.code...))...)
		}
	})
	return all, err
}
