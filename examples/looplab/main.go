// Looplab is a service on github.com/looplab/fsm that uses Ironic's table in place of a
// hand-written list of events. It takes a node through its life with the words of
// Ironic's API, and draws the node's path.
//
//	go run ./examples/looplab
//	go run ./examples/looplab -diagram looplab
//
// The exit status is 0 if the node is available in the end, 1 if it is not or if
// standard output cannot be written, and 2 for wrong usage.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/ironstate/ironstate/internal/program"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

func main() { program.Main("looplab", run) }

func run(ctx context.Context, args []string, out, errOut io.Writer) error {
	flags := flag.NewFlagSet("looplab", flag.ContinueOnError)
	diagram := flags.String("diagram", "", "print the whole machine instead, as one `FORMAT` of "+strings.Join(formats, ", "))
	if err := program.Parse(flags, args, errOut); err != nil {
		return err
	}
	draw, known := drawings[*diagram]
	if !known {
		return program.Usagef("-diagram is %q: want one of %s", *diagram, strings.Join(formats, ", "))
	}
	lines := out
	if *diagram != "" {
		lines = io.Discard
	}
	s, err := live(ctx, lines)
	if err != nil {
		return err
	}
	return draw(s.node, out)
}

// requests are a client's requests in the course of the node's life.
var requests = []struct{ verb, image string }{
	{verb: "manage"},
	{verb: "provide"},
	{verb: "active"},
	{verb: "active", image: "debian-13"},
	{verb: "active", image: "debian-13"},
	{verb: "abort"},
	{verb: "deleted"},
}

// live takes a node from enroll through a deployment back to available, and prints the
// states that each request leads to.
func live(ctx context.Context, out io.Writer) (*service, error) {
	var path []string
	entered := func(_ context.Context, t machine.Transition) error {
		path = append(path, t.To.State.String())
		return nil
	}
	s, err := newService(machine.Node{State: states.Enroll}, new(imagined), entered)
	if err != nil {
		return nil, err
	}
	for _, r := range requests {
		path = []string{s.node.Current()}
		if err := s.request(ctx, r.verb, r.image); err != nil {
			fmt.Fprintf(out, "%-8s refused: %v\n", r.verb, err)
			continue
		}
		fmt.Fprintf(out, "%-8s %s\n", r.verb, strings.Join(path, " -> "))
		if lastError := s.node.Machine().Node().LastError; lastError != "" {
			fmt.Fprintf(out, "%-8s last error: %s\n", "", lastError)
		}
	}
	fmt.Fprintf(out, "stored   %s\n\n", s.record)
	if !s.node.Is("available") {
		return nil, fmt.Errorf("the node has ended in %s", s.node.Current())
	}
	return s, nil
}

// imagined is simulated hardware on which the first deployment fails.
type imagined struct{ deployments int }

// Power implements [hardware].
func (*imagined) Power(context.Context) (states.Power, error) { return states.PowerOn, nil }

// Clean implements [hardware].
func (*imagined) Clean(context.Context) error { return nil }

// Deploy implements [hardware].
func (h *imagined) Deploy(context.Context, string) error {
	if h.deployments++; h.deployments == 1 {
		return errors.New("no space left on device")
	}
	return nil
}
