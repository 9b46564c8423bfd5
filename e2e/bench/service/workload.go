// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
)

// A workload is a request, or a sequence of requests, that is measured.
type workload struct {
	name string
	// do runs the workload once. Calls with different numbers may be concurrent.
	do func(ctx context.Context, s *seeded, number int) error
}

// seeded is a service with nodes in it.
type seeded struct {
	*client
	nodes []string // their UUIDs
}

func (s *seeded) node(number int) string { return s.nodes[number%len(s.nodes)] }

// Indices in workloads.
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
		return s.read(ctx, http.MethodPatch, "/nodes/"+s.node(number),
			fmt.Sprintf(`[{"op": "add", "path": "/extra/bench", "value": %d}]`, number))
	}},
	{"a whole life: create, manage, provide, deploy, undeploy, delete",
		func(ctx context.Context, s *seeded, _ int) error { return s.life(ctx) }},
}

// lives counts the lives, so that each node has a unique name.
var lives atomic.Int64

// life creates a node, moves it through deployment and tear-down, and deletes it.
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
			// The lists keep their length unless the deletion fails too.
			_, _ = s.do(ctx, http.MethodPut, "/nodes/"+uuid+"/maintenance", "{}")
			_, _ = s.do(ctx, http.MethodDelete, "/nodes/"+uuid, "")
			return fmt.Errorf("%s: %w", step.target, err)
		}
	}
	_, err = s.do(ctx, http.MethodDelete, "/nodes/"+uuid, "")
	return err
}
