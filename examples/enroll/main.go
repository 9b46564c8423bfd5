// SPDX-License-Identifier: Apache-2.0

// Enroll takes nodes from enroll to manageable if their BMC answers, and back to enroll if not, and prints every
// transition. Without flags it verifies two nodes by BMCs of its own, with -bmc one by a real BMC, and with -provider
// by a provider of bmclib, which has none of the guarantees of package bmc:
//
//	BMC_PASSWORD=... go run ./examples/enroll -bmc 10.1.2.3 -user admin
//	BMC_PASSWORD=... go run ./examples/enroll -provider rpc -bmc https://pdu.example/rpc
package main

import (
	"context"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/bmc-toolbox/bmclib/v2"
	"github.com/bmc-toolbox/bmclib/v2/providers/rpc"

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
	config := bmc.Config{Password: secret.New(os.Getenv("BMC_PASSWORD")), Log: slog.Default()}
	flag.StringVar(&config.Host, "bmc", "", "`HOST` of the BMC; without it two built-in ones are asked")
	flag.IntVar(&config.RedfishPort, "port", 0, "`PORT` of Redfish; 0 stands for 443")
	flag.IntVar(&config.IPMIPort, "ipmi-port", 0, "`PORT` of IPMI; 0 stands for 623")
	flag.StringVar(&config.User, "user", "", "`NAME` of a user of the BMC; the password is in $BMC_PASSWORD")
	flag.StringVar(&config.Protocol, "protocol", "auto", "redfish, ipmi or auto: redfish, then ipmi if the BMC has no redfish")
	flag.Func("ca", "PEM `FILE` with the authorities that may sign the BMC's certificate", func(file string) error {
		pem, err := os.ReadFile(file)
		config.RootCAs = x509.NewCertPool()
		if err == nil && !config.RootCAs.AppendCertsFromPEM(pem) {
			err = errors.New("no certificate in PEM")
		}
		return err
	})
	provider := flag.String("provider", "", "bmclib's `PROVIDER`: asrockrack, dell, gofish, IntelAMT, ipmitool, openbmc or rpc")
	flag.Parse()
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NODE\tPROVISION STATE\tPOWER STATE\tLAST ERROR")
	var asExpected bool
	switch {
	case flag.NFlag()+flag.NArg() == 0:
		asExpected = builtIn(ctx, table)
	case config.Host == "":
		fail(2, errors.New("the flags are for a real BMC: name it with -bmc HOST"))
	default:
		asExpected = enroll(ctx, table, config.Host, config, *provider) == states.Manageable
	}
	fmt.Println()
	table.Flush()
	if !asExpected {
		os.Exit(1)
	}
}

func fail(status int, err error) {
	fmt.Fprintln(os.Stderr, "enroll:", err)
	os.Exit(status)
}

// builtIn enrolls a node with the right password and a node with a wrong one.
func builtIn(ctx context.Context, table io.Writer) (asExpected bool) {
	fmt.Println("Two built-in Redfish BMCs; node-2 is given a wrong password.")
	var ends []states.State
	for i, password := range []string{bmctest.DefaultPassword, "wrong horse"} {
		server, err := bmctest.NewRedfish(bmctest.RedfishConfig{Systems: []bmctest.System{{ID: "1", Power: "On"}}})
		if err != nil {
			fail(1, err)
		}
		defer server.Close()
		ends = append(ends, enroll(ctx, table, fmt.Sprintf("node-%d", i+1), bmc.Config{
			Host: server.Host, RedfishPort: server.Port, RootCAs: server.CertPool, Protocol: "redfish",
			User: bmctest.DefaultUser, Password: secret.New(password),
		}, ""))
	}
	return ends[0] == states.Manageable && ends[1] == states.Enroll
}

// verifier returns the verifier of a BMC, by a provider of bmclib unless the name is empty.
func verifier(c bmc.Config, provider string) (verify.Verifier, error) {
	if provider == "" {
		return bmc.New(c)
	}
	options := []bmclib.Option{bmclib.WithSecureTLS(c.RootCAs)}
	if provider == rpc.ProviderName { // with this option bmclib registers no other provider
		options = append(options, bmclib.WithRPCOpt(rpc.Provider{ConsumerURL: c.Host}))
	}
	withPort := map[string]func(port string) bmclib.Option{
		"asrockrack": bmclib.WithAsrockrackPort, "gofish": bmclib.WithRedfishPort, "ipmitool": bmclib.WithIpmitoolPort,
	}[provider]
	switch port := max(c.RedfishPort, c.IPMIPort); {
	case c.Protocol != "auto", port != 0 && withPort == nil:
		return nil, fmt.Errorf("a port and -protocol are not for provider %q", provider)
	case provider == "supermicro": // it would send the password to anybody
		return nil, errors.New("bmclib's provider supermicro verifies no certificates, whatever its options")
	case port != 0:
		options = append(options, withPort(strconv.Itoa(port)))
	}
	client := func() *bmclib.Client {
		client := bmclib.NewClient(c.Host, c.User, c.Password.Reveal(), options...)
		client.Registry.Drivers = client.Registry.For(provider)
		return client
	}
	if len(client().Registry.Drivers) == 0 {
		return nil, fmt.Errorf("bmclib has no provider %q", provider)
	}
	return bmc.FromClient(client, c.Password), nil
}

// enroll verifies a node in enroll, prints its transitions and a row, and returns its last state.
func enroll(ctx context.Context, table io.Writer, name string, c bmc.Config, provider string) states.State {
	v, err := verifier(c, provider)
	if err != nil {
		fail(2, err)
	}
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
	power, err := verify.Manage(ctx, node, v)
	after := node.Node()
	if err != nil && after.LastError == "" {
		after.LastError = err.Error() // the verification did not begin
	}
	fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", name, after.State, power, after.LastError)
	return after.State
}
