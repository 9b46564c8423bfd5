package api

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/conductor/api/internal/since"
)

// shardController returns the controller of /v1/shards.
func shardController() *controller {
	return &controller{
		admit: refuseBefore(since.Shards, "shards"),
		actions: actions{all: {serve: listShards}, one: {optional: 1, serve: func(*request) (answer, error) {
			return answer{}, notFound("The resource could not be found.")
		}}},
	}
}

// listShards answers GET /v1/shards with the number of nodes per shard, largest first.
func listShards(r *request) (answer, error) {
	if a := r.queryArgs(); a.err != nil {
		return answer{}, a.err
	}
	nodes, err := r.conductor.Nodes(r.Context())
	if err != nil {
		return answer{}, err
	}
	counts := map[any]int{} // by shard; nil for nodes without one
	for _, n := range nodes {
		counts[nodeFieldsByName["shard"].get(n)]++
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
	return objectWith("shards", func(w *writer) {
		w.openList()
		for _, shard := range shards {
			name, has := shard.(string)
			if !has {
				name = "None"
			}
			w.open()
			w.key("name").text(name)
			w.key("count").integer(counts[shard])
			w.close()
		}
		w.closeList()
	}), nil
}
