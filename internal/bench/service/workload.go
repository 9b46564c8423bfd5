package main

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
)

// A workload is one thing that the services are asked for, again and again.
type workload struct {
	name string
	// do does it once. Calls with different numbers may be under way at once.
	do func(ctx context.Context, s *seeded, number int) error
}

// seeded is a service with nodes in it.
type seeded struct {
	*client
	nodes []string // their UUIDs
}

func (s *seeded) node(number int) string { return s.nodes[number%len(s.nodes)] }

// The workloads that are used one by one, by their place in the list.
const (
	show = iota
	list
	detail
	patch
)

var workloads = []workload{
	show: {"GET a node", func(ctx context.Context, s *seeded, number int) error {
		return s.read(ctx, http.MethodGet, "/nodes/"+s.node(number), "")
	}},
	list: {"GET a list of nodes", func(ctx context.Context, s *seeded, _ int) error {
		return s.read(ctx, http.MethodGet, "/nodes", "")
	}},
	detail: {"GET the list with all fields", func(ctx context.Context, s *seeded, _ int) error {
		return s.read(ctx, http.MethodGet, "/nodes/detail", "")
	}},
	patch: {"PATCH a node", func(ctx context.Context, s *seeded, number int) error {
		return s.read(ctx, http.MethodPatch, "/nodes/"+s.node(number), fmt.Sprintf(`[{"op": "add", "path": "/extra/bench", "value": %d}]`, number))
	}},
	{"a whole life: create, manage, provide, deploy, undeploy, delete", func(ctx context.Context, s *seeded, _ int) error { return s.life(ctx) }},
}

// lives numbers the nodes whose lives are measured: each has a name of its own.
var lives atomic.Int64

// life leads a node from its creation to its deletion.
func (s *seeded) life(ctx context.Context) error {
	uuid, err := s.create(ctx, fmt.Sprintf("life-%d", lives.Add(1)))
	if err != nil {
		return err
	}
	for _, step := range []struct{ target, state string }{
		{"manage", "manageable"}, {"provide", "available"}, {"active", "active"}, {"deleted", "available"},
	} {
		if err = s.provision(ctx, uuid, step.target); err == nil {
			err = s.settle(ctx, uuid, step.state)
		}
		if err != nil {
			s.remove(ctx, uuid)
			return fmt.Errorf("%s: %w", step.target, err)
		}
	}
	_, err = s.do(ctx, http.MethodDelete, "/nodes/"+uuid, "")
	return err
}

// remove deletes a node whose life was cut short, so that it is in no list. Where that
// fails too, the list has one more.
func (s *seeded) remove(ctx context.Context, uuid string) {
	_, _ = s.do(ctx, http.MethodPut, "/nodes/"+uuid+"/maintenance", "{}")
	_, _ = s.do(ctx, http.MethodDelete, "/nodes/"+uuid, "")
}
