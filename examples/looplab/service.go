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

// service is a service on looplab with one node. Its callbacks are those that it had
// when it listed its events by hand; the *fsm.FSM has become a *looplab.FSM.
type service struct {
	node     *looplab.FSM
	hardware hardware
	image    string // the image that the last request named
	record   []byte // what the service's database has
}

// hardware is the work that the service has done on its node.
type hardware interface {
	Power(ctx context.Context) (states.Power, error)
	Clean(ctx context.Context) error
	Deploy(ctx context.Context, image string) error
}

// newService makes the service of a node as it was stored. The hook entered is called
// before the work of a new state begins.
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

// save is the hook that looplab has no callback for: the node moves once it is stored.
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

// tearDown has nothing to do here. Its end begins a cleaning.
func (s *service) tearDown(ctx context.Context, e *fsm.Event) { e.Err = s.report(ctx, nil) }

// request is a client's request by a word of Ironic's API. It goes to the Machine, which
// answers as Ironic does, and calls looplab's callbacks as well.
func (s *service) request(ctx context.Context, verb, image string) error {
	s.image = image
	return s.node.Machine().Request(ctx, verb, s.node.Machine().Table().Series().MaxAPIVersion())
}

// report ends the work of the node's state, well or with a last error. The Machine knows
// which event and target that is by Ironic's rules.
func (s *service) report(ctx context.Context, failed error) error {
	if failed != nil {
		return s.node.Machine().Report(ctx, states.EventFail, failed.Error())
	}
	return s.node.Machine().Report(ctx, states.EventDone, "")
}
