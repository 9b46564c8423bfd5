// SPDX-License-Identifier: Apache-2.0

// Force injects faults into conductors and etcd servers, and checks the history afterwards.
//
//	go run ./e2e/force -seed 7 -for 30m
//
// Three processes of cmd/ironstate share 1,000 nodes of fake-hardware on three etcd servers, or with -embedded on the
// servers in themselves. Clients send random requests to all conductors. Meanwhile processes are killed, terminated,
// stopped or cut off (fault.go), and attackers send requests that must be refused (attack.go), two of them from the
// network of the agents (inside.go, victim.go). Sixteen more nodes are machines of bmctest and agenttest, which clients
// take through all of their lives (operate.go, machines.go).
//
// Then all faults end. Every node must become idle, and every machine without an instance is cleaned and deployed.
// Package history checks the versions that the store has had, the answers to the clients, the operations on the
// hardware, and the agents' steps and disks.
//
// The seed determines the faults and the requests, but not their timing: the same seed does not give the same history.
// If a rule is broken, the logs of all processes are kept.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"github.com/ironstate/ironstate/e2e/internal/etcdserver"
	"github.com/ironstate/ironstate/internal/program"
)

func main() {
	if !etcdserver.Main() {
		program.Main("force", force)
	}
}

var errFindings = errors.New("rules were broken, see above")

func force(ctx context.Context, args []string, out, errOut io.Writer) error {
	c := config{store: newEtcdServers}
	flags := flag.NewFlagSet("force", flag.ContinueOnError)
	flags.Uint64Var(&c.seed, "seed", 0, "`seed` of the faults and the requests; 0 chooses one")
	flags.DurationVar(&c.duration, "for", time.Minute, "least `time` for which faults are injected")
	flags.IntVar(&c.nodeCount, "nodes", 1000, "nodes of fake-hardware, 1 to 10000")
	flags.IntVar(&c.machineCount, "machines", 16, "nodes with agents, 0 to 100")
	flags.IntVar(&c.clients, "clients", 24, "clients, 1 to 1000")
	flags.DurationVar(&c.lease, "lease", 3*time.Second, "`time` of the conductors' leases, 2s or more")
	embedded := flags.Bool("embedded", false, "use the etcd servers embedded in the conductors (-cluster); without network cuts")
	flags.BoolVar(&c.verbose, "v", false, "print each fault")
	if err := program.Parse(flags, args, errOut); err != nil {
		return err
	}
	if *embedded {
		c.store = newEmbeddedEtcd
	}
	if err := errors.Join(
		program.Between("nodes", c.nodeCount, 1, 10_000),
		program.Between("machines", c.machineCount, 0, 100),
		program.Between("clients", c.clients, 1, 1000),
	); err != nil {
		return err
	}
	if c.duration <= 0 || c.lease < 2*time.Second {
		return program.Usagef("-for is %v and -lease is %v: want more than 0 and at least 2s", c.duration, c.lease)
	}
	c.seed = cmp.Or(c.seed, rand.Uint64())
	fmt.Fprintf(out, "seed %d\n", c.seed)
	result, err := execute(ctx, c, func(format string, args ...any) { fmt.Fprintf(out, format+"\n", args...) })
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%v, %d operations on hardware\n", result, result.operations)
	fmt.Fprintf(out, "agents have ended %d automated cleanings and %d deployments\n", result.cleanings, result.deployments)
	fmt.Fprintf(out, "the longest time from the end of a lease to the end of its reservations: %v\n", result.takeOver.Round(time.Millisecond))
	fmt.Fprintf(out, "the longest time from a request to the end of its work: %v, of node %s from %s on\n",
		result.longest.took.Round(time.Millisecond), result.longest.node, result.longest.begin.Format(time.TimeOnly))
	for _, finding := range result.findings {
		fmt.Fprintln(out, finding)
	}
	if len(result.findings) > 0 {
		return fmt.Errorf("seed %d: %d findings: %w", c.seed, len(result.findings), errFindings)
	}
	fmt.Fprintln(out, "no finding")
	return nil
}
