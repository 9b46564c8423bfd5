package main

import (
	"context"
	"fmt"
	"io"

	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify/bmc"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
	"github.com/ironstate/ironstate/verify/secret"
)

// runBuiltIn starts two BMCs and enrolls a node on each: the first with the
// right password, the second with a wrong one.
func runBuiltIn(ctx context.Context, out io.Writer) (int, error) {
	fmt.Fprintln(out, "Two built-in Redfish BMCs; node-2 is given a wrong password.")
	good, err := enrollBuiltIn(ctx, out, "node-1", "correct horse")
	if err != nil {
		return exitFailed, err
	}
	bad, err := enrollBuiltIn(ctx, out, "node-2", "wrong horse")
	if err != nil {
		return exitFailed, err
	}
	printTable(out, good, bad)
	if good.State == states.Manageable && bad.State == states.Enroll {
		return exitGood, nil
	}
	return exitFailed, nil
}

func enrollBuiltIn(ctx context.Context, out io.Writer, name, password string) (enrolled, error) {
	server, err := bmctest.NewRedfish(bmctest.RedfishConfig{
		Users:   map[string]secret.Text{"admin": secret.New("correct horse")},
		Systems: []bmctest.System{{ID: "1", Name: name, Power: "On"}},
	})
	if err != nil {
		return enrolled{}, err
	}
	defer server.Close()

	verifier, err := bmc.New(bmc.Config{
		Host:        server.Host,
		RedfishPort: server.Port,
		RootCAs:     server.CertPool,
		User:        "admin",
		Password:    secret.New(password),
		Protocol:    "redfish",
	})
	if err != nil {
		return enrolled{}, err
	}
	return enroll(ctx, out, name, verifier), nil
}
