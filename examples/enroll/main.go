// SPDX-License-Identifier: Apache-2.0

// Enroll takes nodes from enroll to manageable if their BMC answers, and back to
// enroll if not, and prints every transition.
//
// Without flags it starts its own BMCs: two Redfish BMCs, the second of which gets a
// wrong password. With -bmc it verifies a node by a real BMC:
//
//	BMC_PASSWORD=... go run ./examples/enroll -bmc 10.1.2.3 -user admin
//
// With -provider it does so with a provider of github.com/bmc-toolbox/bmclib/v2, such as
// IntelAMT or openbmc, or rpc, for which -bmc is the URL that the requests for power are sent
// to. A provider has none of the guarantees of package bmc:
//
//	BMC_PASSWORD=... go run ./examples/enroll -provider rpc -bmc https://pdu.example/rpc
//
// The exit status is 0 if the verification had the expected result (the node of -bmc
// is manageable), 1 if not, and 2 for wrong usage. After SIGINT or SIGTERM the node is
// back in enroll and the session on the BMC is closed; the status is then 1.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
	"github.com/ironstate/ironstate/verify/secret"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	address := flag.String("bmc", "", "`HOST[:PORT]` of the BMC; without it two built-in ones are asked")
	user := flag.String("user", "", "`NAME` of a user of the BMC; the password is in $BMC_PASSWORD")
	ca := flag.String("ca", "", "PEM `FILE` with the authorities that may sign the BMC's certificate")
	protocol := flag.String("protocol", "auto", "redfish, ipmi or auto: redfish, then ipmi if the BMC has no redfish")
	provider := flag.String("provider", "", "`NAME` of a provider of bmclib: "+strings.Join(providers(), ", "))
	flag.Parse()
	if *address == "" {
		if flag.NFlag()+flag.NArg() > 0 {
			fail(2, fmt.Errorf("the flags are for a real BMC: name it with -bmc HOST[:PORT]"))
		}
		builtIn(ctx)
		return
	}
	node := enroll(ctx, *address, verifier(*address, *user, *ca, *protocol, *provider))
	printTable(node)
	if node.State != states.Manageable {
		os.Exit(1)
	}
}

func fail(status int, err error) {
	fmt.Fprintln(os.Stderr, "enroll:", err)
	os.Exit(status)
}

// builtIn enrolls a node with the right password and a node with a wrong one.
func builtIn(ctx context.Context) {
	fmt.Println("Two built-in Redfish BMCs; node-2 is given a wrong password.")
	good := enrollBuiltIn(ctx, "node-1", "correct horse")
	bad := enrollBuiltIn(ctx, "node-2", "wrong horse")
	printTable(good, bad)
	if good.State != states.Manageable || bad.State != states.Enroll {
		os.Exit(1)
	}
}

func enrollBuiltIn(ctx context.Context, name, password string) result {
	server, err := bmctest.NewRedfish(bmctest.RedfishConfig{
		Users:   map[string]secret.Text{"admin": secret.New("correct horse")},
		Systems: []bmctest.System{{ID: "1", Name: name, Power: "On"}},
	})
	if err != nil {
		fail(1, err)
	}
	defer server.Close()
	verifier, err := bmc.New(bmc.Config{
		Host: server.Host, RedfishPort: server.Port, RootCAs: server.CertPool, User: "admin", Password: secret.New(password), Protocol: "redfish",
	})
	if err != nil {
		fail(1, err)
	}
	return enroll(ctx, name, verifier)
}

// result is a node after its enrolment.
type result struct {
	machine.Node
	name  string
	power states.Power
}

// enroll makes a node in enroll, verifies it, and prints its transitions as they happen.
func enroll(ctx context.Context, name string, verifier verify.Verifier) result {
	node, err := machine.New(machine.Config{
		Table: states.Latest().Table(), Node: machine.Node{State: states.Enroll}, Name: name,
		Enter: []machine.Hook{func(_ context.Context, t machine.Transition) error {
			_, err := fmt.Printf("%s  %s  %s --%s--> %s  (target %s)\n",
				t.Time.Format(time.TimeOnly+".000"), t.Node, t.From.State, t.Event, t.To.State, t.To.Target)
			return err
		}},
	})
	if err != nil {
		fail(1, err)
	}
	power, err := verify.Manage(ctx, node, verifier)
	r := result{node.Node(), name, power}
	if err != nil && r.LastError == "" {
		r.LastError = err.Error() // the verification did not begin
	}
	return r
}

func printTable(nodes ...result) {
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "\nNODE\tPROVISION STATE\tPOWER STATE\tLAST ERROR")
	for _, n := range nodes {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", n.name, n.State, n.power, n.LastError)
	}
	table.Flush()
}
