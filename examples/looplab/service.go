package main

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/looplab/fsm"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/machine/looplab"
	"github.com/ironstate/ironstate/states"
)

// service is a service on looplab with one node. Its callbacks are those for the
// hand-written list of events; its *fsm.FSM is now a *looplab.FSM.
type service struct {
	node     *looplab.FSM
	hardware hardware
	image    string // the image that the last request named
	record   []byte // the record in the service's database
}

// hardware does the service's work on its node.
type hardware interface {
	Power(ctx context.Context) (states.Power, error)
	Clean(ctx context.Context) error
	Deploy(ctx context.Context, image string) error
}

// newService makes the service of a stored node. The hook entered is called before the
// work of a new state begins.
func newService(stored machine.Node, h hardware, entered machine.Hook) (*service, error) {
	s := &service{hardware: h}
	node, err := looplab.New(machine.Config{
		Table:   states.Latest().Table(),
		Node:    stored,
		Name:    "node-1",
		Save:    []machine.Hook{s.save},
		Enter:   []machine.Hook{entered},
		History: 100,
	}, fsm.Callbacks{
		"before_deploy":   s.needsImage,
		"enter_verifying": s.verify,
		"enter_cleaning":  s.clean,
		"enter_deploying": s.deploy,
		"enter_deleting":  s.tearDown,
	})
	s.node = node
	return s, err
}

// save is a save hook, which looplab has no callback for: the node moves only if it can
// be stored.
func (s *service) save(_ context.Context, t machine.Transition) (err error) {
	s.record, err = json.Marshal(t.To)
	return err
}

func (s *service) needsImage(_ context.Context, e *fsm.Event) {
	if s.image == "" {
		e.Cancel(errors.New("the node has no image"))
	}
}

func (s *service) verify(ctx context.Context, e *fsm.Event) {
	_, err := s.hardware.Power(ctx)
	e.Err = s.report(ctx, err)
}

func (s *service) clean(ctx context.Context, e *fsm.Event) {
	e.Err = s.report(ctx, s.hardware.Clean(ctx))
}

func (s *service) deploy(ctx context.Context, e *fsm.Event) {
	e.Err = s.report(ctx, s.hardware.Deploy(ctx, s.image))
}

// tearDown does no work. Its end begins a cleaning.
func (s *service) tearDown(ctx context.Context, e *fsm.Event) { e.Err = s.report(ctx, nil) }

// request carries out a client's request with a word of Ironic's API. It calls the
// Machine, which returns Ironic's errors and calls looplab's callbacks too.
func (s *service) request(ctx context.Context, verb, image string) error {
	s.image = image
	return s.node.Machine().Request(ctx, verb, s.node.Machine().Table().Series().MaxAPIVersion())
}

// report ends the work of the node's state, with success or a last error. The Machine
// derives the event and the target by Ironic's rules.
func (s *service) report(ctx context.Context, failed error) error {
	if failed != nil {
		return s.node.Machine().Report(ctx, states.EventFail, failed.Error())
	}
	return s.node.Machine().Report(ctx, states.EventDone, "")
}
