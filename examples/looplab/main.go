// SPDX-License-Identifier: Apache-2.0

// Looplab is a service on github.com/looplab/fsm that uses Ironic's table in place of a
// hand-written list of events. It takes a node through its life with the words of
// Ironic's API, and draws the node's path.
//
//	go run ./examples/looplab
//
// The exit status is 0 if the node is available in the end, and 1 if not.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/looplab/fsm"

	"github.com/ironstate/ironstate/graph"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/machine/looplab"
	"github.com/ironstate/ironstate/states"
)

// service is a service on looplab with one node. Its callbacks are those for the
// hand-written list of events; its *fsm.FSM is now a *looplab.FSM.
type service struct {
	node        *looplab.FSM
	image       string // the image that the last request named
	record      []byte // the record in the service's database
	deployments int
	path        []string
}

// newService makes the service of a stored node.
func newService(stored machine.Node) (*service, error) {
	s := new(service)
	node, err := looplab.New(machine.Config{
		Table:   states.Latest().Table(),
		Node:    stored,
		Name:    "node-1",
		Save:    []machine.Hook{s.save},
		Enter:   []machine.Hook{s.entered},
		History: 100,
	}, fsm.Callbacks{
		"before_deploy":   s.needsImage,
		"enter_verifying": s.work,
		"enter_cleaning":  s.work,
		"enter_deploying": s.deploy,
		"enter_deleting":  s.work, // its end begins a cleaning
	})
	s.node = node
	return s, err
}

// save is a save hook, which looplab has no callback for: the node moves only if it can
// be stored. It ends when its context does, as ExecContext of a database would, because
// other moves wait for it.
func (s *service) save(ctx context.Context, t machine.Transition) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.record, err = json.Marshal(t.To)
	return err
}

func (s *service) entered(_ context.Context, t machine.Transition) error {
	s.path = append(s.path, t.To.State.String())
	return nil
}

func (s *service) needsImage(_ context.Context, e *fsm.Event) {
	if s.image == "" {
		e.Cancel(errors.New("the node has no image"))
	}
}

// work is simulated and succeeds. The Machine derives the event and the target of its
// end by Ironic's rules.
func (s *service) work(ctx context.Context, e *fsm.Event) {
	e.Err = s.node.Machine().Report(ctx, states.EventDone, "")
}

// deploy simulates a deployment; the first one fails.
func (s *service) deploy(ctx context.Context, e *fsm.Event) {
	if s.deployments++; s.deployments == 1 {
		e.Err = s.node.Machine().Report(ctx, states.EventFail, "no space left on device")
		return
	}
	s.work(ctx, e)
}

// request carries out a client's request with a word of Ironic's API. It calls the
// Machine, which returns Ironic's errors and calls looplab's callbacks too.
func (s *service) request(ctx context.Context, verb, image string) error {
	s.image, s.path = image, []string{s.node.Current()}
	return s.node.Machine().Request(ctx, verb, s.node.Machine().Table().Series().MaxAPIVersion())
}

func main() {
	log.SetFlags(0)
	s, err := newService(machine.Node{State: states.Enroll})
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range []struct{ verb, image string }{
		{verb: "manage"},
		{verb: "provide"},
		{verb: "active"},
		{verb: "active", image: "debian-13"},
		{verb: "active", image: "debian-13"},
		{verb: "abort"},
		{verb: "deleted"},
	} {
		if err := s.request(context.Background(), r.verb, r.image); err != nil {
			fmt.Printf("%-8s refused: %v\n", r.verb, err)
			continue
		}
		fmt.Printf("%-8s %s\n", r.verb, strings.Join(s.path, " -> "))
		if lastError := s.node.Machine().Node().LastError; lastError != "" {
			fmt.Printf("%-8s last error: %s\n", "", lastError)
		}
	}
	fmt.Printf("stored   %s\n\n", s.record)
	if err := draw(s.node.Machine()); err != nil {
		log.Fatal(err)
	}
	if !s.node.Is("available") {
		log.Fatalf("the node has ended in %s", s.node.Current())
	}
}

// draw draws the states that a node has been in, and its path.
func draw(m *machine.Machine) error {
	d := graph.Diagram{Table: m.Table(), Title: m.Name(), Current: m.Node().State}
	for _, t := range m.History() {
		d.Path = append(d.Path, states.Transition{From: t.From.State, Event: t.Event, To: t.To.State})
		d.Only = d.Only.Union(states.SetOf(t.From.State, t.To.State))
	}
	return d.WriteMermaid(os.Stdout)
}
