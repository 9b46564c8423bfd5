package api

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
)

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
