// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/objects"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
	"github.com/ironstate/ironstate/conductor/api/internal/wire"
	"github.com/ironstate/ironstate/states"
)

// Shards returns the controller of /v1/shards.
func Shards(s *rest.Service) *rest.Controller {
	refuse := rest.RefuseBefore(since.Shards, "shards", s.Series < states.Epoxy)
	return &rest.Controller{
		Admit: func(r *rest.Request) error {
			if s.Series >= states.Epoxy && r.Method != http.MethodGet { // which nothing answers
				return nil
			}
			return refuse(r)
		},
		Actions: rest.Actions{rest.All: {Serve: listShards}, rest.One: {Optional: 1, Serve: func(*rest.Request) (rest.Answer, error) {
			return rest.Answer{}, fault.NotFound("The resource could not be found.")
		}}},
	}
}

// listShards answers GET /v1/shards with the number of nodes per shard, largest first.
var listShards = checks{arguments()}.Then(newRequest, func(q *request) (rest.Answer, error) {
	nodes, err := q.Conductor.Nodes(q.Context())
	if err != nil {
		return rest.Answer{}, err
	}
	counts := map[any]int{} // by shard; nil for nodes without one
	for _, n := range nodes {
		counts[objects.Shard(n)]++
	}
	order := func(shard any) string { // as the database orders them, null first
		if name, has := shard.(string); has {
			return "/" + name
		}
		return ""
	}
	shards := slices.SortedFunc(maps.Keys(counts), func(a, b any) int {
		return cmp.Or(counts[b]-counts[a], strings.Compare(order(a), order(b)))
	})
	return rest.ObjectWith("shards", func(w *wire.Writer) {
		wire.List(w, shards, func(shard any) {
			name, has := shard.(string)
			if !has {
				name = "None"
			}
			w.Open()
			w.Key("name").Text(name)
			w.Key("count").Integer(counts[shard])
			w.Close()
		})
	}), nil
})
