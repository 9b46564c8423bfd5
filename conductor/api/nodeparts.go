package api

import (
	"cmp"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// listVIFs answers GET /v1/nodes/NODE/vifs. The network interface of every hardware type is
// noop, which accepts virtual interfaces and stores none.
func listVIFs(r *request) (answer, error) {
	if _, err := r.node(r.param(0)); err != nil {
		return answer{}, err
	}
	return objectWith("vifs", func(w *writer) { w.texts(nil) }), nil
}

// attachVIF answers POST /v1/nodes/NODE/vifs.
func attachVIF(r *request) (answer, error) {
	body, err := r.decode(maxBody)
	if err != nil {
		return answer{}, err
	}
	if err := vifSchema.validate("vif", body); err != nil {
		return answer{}, err
	}
	vif := body.(map[string]any)
	id := vif["id"].(string)
	if !isUUID(id) && !isName(id) {
		return answer{}, invalid("Expected UUID or name for id: %s", show(id))
	}
	n, err := r.node(r.param(0))
	if err != nil {
		return answer{}, err
	}
	if vif["port_uuid"] != nil && vif["portgroup_uuid"] != nil && r.version >= since.VIFPort {
		return answer{}, invalid("Cannot specify both port_uuid and portgroup_uuid")
	}
	return statusNoContent, r.conductor.TouchNode(r.Context(), n.UUID)
}

// detachVIF answers DELETE /v1/nodes/NODE/vifs/ID.
func detachVIF(r *request) (answer, error) {
	if id := r.param(1); !isUUID(id) && !isName(id) {
		return answer{}, invalid("Expected UUID or name for vif_id: %s", show(id))
	}
	n, err := r.node(r.param(0))
	if err != nil {
		return answer{}, err
	}
	return statusNoContent, r.conductor.TouchNode(r.Context(), n.UUID)
}

// emptyList answers requests for a list that is empty with every hardware type.
func emptyList(name string, arguments ...string) func(*request) (answer, error) {
	return func(r *request) (answer, error) {
		if a := r.queryArgs(arguments...); a.err != nil {
			return answer{}, a.err
		}
		if _, err := r.node(r.param(0)); err != nil {
			return answer{}, err
		}
		return objectWith(name, func(w *writer) { w.texts(nil) }), nil
	}
}

// showInventory answers GET /v1/nodes/NODE/inventory. The inventory has the node's UUID.
func showInventory(r *request) (answer, error) {
	n, err := r.node(r.param(0))
	if err != nil {
		return answer{}, err
	}
	o, err := r.conductor.Object(r.Context(), conductor.KindInventory, n.UUID)
	if errors.Is(err, conductor.NotFound) {
		return answer{}, notFound("Node inventory record for node %s could not be found.", n.UUID)
	}
	if err != nil {
		return answer{}, err
	}
	w := newWriter(4096)
	w.open()
	inventory := o.(*conductor.Inventory)
	w.key("inventory").object(inventory.Inventory)
	w.key("plugin_data").object(inventory.PluginData)
	w.close()
	return answer{status: http.StatusOK, body: w.b}, nil
}

// listChildren answers GET /v1/nodes/NODE/children.
func listChildren(r *request) (answer, error) {
	n, err := r.node(r.param(0))
	if err != nil {
		return answer{}, err
	}
	children, err := r.conductor.NodesIn(r.Context(), conductor.NodeRange{Parent: &n.UUID})
	if err != nil {
		return answer{}, err
	}
	w := newWriter(512)
	w.open()
	w.key("children").openList()
	for child := range children {
		w.text(child.UUID)
	}
	w.closeList()
	w.key("links").link("children", r.base(), "/v1/nodes/?parent_node=", n.UUID)
	w.close()
	return answer{status: http.StatusOK, body: w.b}, nil
}

// listHistory answers GET /v1/nodes/NODE/history.
func listHistory(r *request) (answer, error) {
	a := r.queryArgs(slices.Concat(pageArgs, []string{"detail"})...)
	p, detail := a.page((*args).uuid), a.boolean("detail")
	if a.err != nil {
		return answer{}, a.err
	}
	n, err := r.node(r.param(0))
	if err != nil {
		return answer{}, err
	}
	if err := p.check(r); err != nil {
		return answer{}, err
	}
	entries, err := r.conductor.History(r.Context(), n.UUID)
	if err != nil {
		return answer{}, err
	}
	entries, found := cut(p, entries, nil, func(e *conductor.HistoryEntry) string { return e.UUID })
	if !found {
		return answer{}, notFound("Node history record %s could not be found.", p.marker)
	}
	w := newWriter(64 + 512*len(entries))
	w.open()
	w.key("history").openList()
	for _, entry := range entries {
		r.writeHistory(w, n, entry, detail != nil && *detail)
	}
	w.closeList()
	if len(entries) > 0 {
		p.writeNext(w, r, "nodes/"+r.param(0)+"/history", nil, nil, len(entries), entries[len(entries)-1].UUID)
	}
	w.close()
	return answer{status: http.StatusOK, body: w.b}, nil
}

// showHistory answers GET /v1/nodes/NODE/history/UUID.
func showHistory(r *request) (answer, error) {
	n, err := r.node(r.param(0))
	if err != nil {
		return answer{}, err
	}
	o, err := r.conductor.Object(r.Context(), conductor.KindHistory, r.param(1))
	if errors.Is(err, conductor.NotFound) || err == nil && o.Meta().NodeUUID != n.UUID {
		return answer{}, notFound("Node history record %s could not be found.", show(r.param(1)))
	}
	if err != nil {
		return answer{}, err
	}
	w := newWriter(1024)
	r.writeHistory(w, n, o.(*conductor.HistoryEntry), true)
	return answer{status: http.StatusOK, body: w.b}, nil
}

// maxEvent is the maximum length in bytes of a history entry's event in lists without detail.
const maxEvent = 255

func (r *request) writeHistory(w *writer, n *node, entry *conductor.HistoryEntry, detail bool) {
	event := entry.Event
	if !detail && len(event) > maxEvent {
		event = strings.ToValidUTF8(event[:maxEvent-4], "") + "..."
	}
	w.open()
	w.key("uuid").text(entry.UUID)
	w.key("created_at").time(&entry.CreatedAt)
	w.key("severity").textOrNull(entry.Severity)
	w.key("event").textOrNull(event)
	if detail {
		w.key("event_type").textOrNull(entry.EventType)
		w.key("conductor").textOrNull(entry.Conductor)
		w.key("user").textOrNull(entry.User)
		if r.version >= since.HistoryProject {
			w.key("project").textOrNull(entry.Project)
		}
	}
	w.key("links").openList()
	w.link("self", r.base(), "/v1/nodes/", n.UUID, "/history/", entry.UUID)
	w.closeList()
	w.close()
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

// hostDrivers maps each hardware type to the names of the conductors that have it.
func (r *request) hostDrivers() (map[string][]string, error) {
	members, err := r.conductor.Members(r.Context())
	if err != nil {
		return nil, err
	}
	hosts := map[string][]string{}
	for _, m := range members {
		for _, driver := range m.Drivers {
			hosts[driver] = append(hosts[driver], m.Hostname)
		}
	}
	return hosts, nil
}
