package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

// fake is an Ironic with one node: as much of the API as this program speaks, and
// a conductor. Its answers are the table's, but for those that refuse was told.
type fake struct {
	uuid, name string
	table      *states.Table
	delay      time.Duration // how long each piece of the conductor's work takes

	server *httptest.Server
	stop   func() // ends the conductor, and returns when it has ended

	mu          sync.Mutex
	node        machine.Node
	maintenance string                          // the reason for it, empty where there is none
	refusals    map[string][]answer             // by verb, and by method
	script      map[states.State][]states.Event // what the conductor reports, otherwise success
	accepted    []map[string]any                // the requests' bodies
	asked       map[string]int                  // how often, as refusals
	moved       chan struct{}                   // a request moved the node; holds one
	shown       chan struct{}                   // the node's state was looked at; holds one
}

// answer is a refusal that was ordered.
type answer struct {
	status            int
	fault, retryAfter string
}

func newFake(node machine.Node) *fake {
	return &fake{
		uuid:     "8c3f0b3e-8f0e-4a5e-9d2b-6f1f0c2d7a11",
		name:     "node-1",
		table:    states.Latest().Table(),
		node:     node,
		refusals: make(map[string][]answer),
		script:   make(map[states.State][]states.Event),
		asked:    make(map[string]int),
		moved:    make(chan struct{}, 1),
		shown:    make(chan struct{}, 1),
	}
}

// refuse orders the next answers to a verb, or to a method.
func (f *fake) refuse(what string, answers ...answer) {
	f.refusals[what] = append(f.refusals[what], answers...)
}

// work orders what the conductor reports in a state, one time after the other.
func (f *fake) work(in states.State, reports ...states.Event) {
	f.script[in] = append(f.script[in], reports...)
}

// start starts the server and the conductor; close ends them.
func (f *fake) start() {
	routes := http.NewServeMux()
	routes.HandleFunc("GET /v1", f.showVersions)
	routes.HandleFunc("GET /v1/nodes/{node}", f.versioned(f.showNode))
	routes.HandleFunc("PUT /v1/nodes/{node}/states/provision", f.versioned(f.provision))
	f.server = httptest.NewServer(routes)
	f.stop = f.conduct()
}

func (f *fake) url() string { return f.server.URL }

func (f *fake) close() {
	f.stop()
	f.server.Close()
}

const (
	versionHeader = "X-OpenStack-Ironic-API-Version"
	minimumHeader = "X-OpenStack-Ironic-API-Minimum-Version"
	maximumHeader = "X-OpenStack-Ironic-API-Maximum-Version"
)

const oldest states.APIVersion = 1

func (f *fake) showVersions(w http.ResponseWriter, _ *http.Request) {
	reply(w, http.StatusOK, map[string]any{"id": "v1", "version": map[string]any{
		"id":          "v1",
		"status":      "CURRENT",
		"min_version": oldest,
		"version":     f.table.Series().MaxAPIVersion(),
	}})
}

type versionedHandler func(http.ResponseWriter, *http.Request, states.APIVersion)

// versioned finds the version that a request is made in, and has the answers that
// were ordered come first.
func (f *fake) versioned(handle versionedHandler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		highest := f.table.Series().MaxAPIVersion()
		w.Header().Set(minimumHeader, oldest.String())
		w.Header().Set(maximumHeader, highest.String())
		version, err := f.table.Series().Negotiate(r.Header.Get(versionHeader))
		if err != nil {
			fault(w, http.StatusNotAcceptable, "the API version is not one of the server's")
			return
		}
		w.Header().Set(versionHeader, version.String())

		f.mu.Lock()
		defer f.mu.Unlock()
		switch node := r.PathValue("node"); {
		case f.refuses(w, r.Method):
		case node != f.name && node != f.uuid:
			fault(w, http.StatusNotFound, fmt.Sprintf("Node %s could not be found.", node))
		default:
			handle(w, r, version)
		}
	}
}

// refuses gives the next answer that was ordered, if there is one.
func (f *fake) refuses(w http.ResponseWriter, what string) bool {
	f.asked[what]++
	ordered := f.refusals[what]
	if len(ordered) == 0 {
		return false
	}
	f.refusals[what] = ordered[1:]
	if ordered[0].retryAfter != "" {
		w.Header().Set("Retry-After", ordered[0].retryAfter)
	}
	fault(w, ordered[0].status, ordered[0].fault)
	return true
}

func (f *fake) showNode(w http.ResponseWriter, _ *http.Request, v states.APIVersion) {
	node := f.node
	node.State = v.Show(node.State)
	reply(w, http.StatusOK, map[string]any{
		"uuid":                   f.uuid,
		"name":                   f.name,
		"provision_state":        node.State,
		"target_provision_state": node.Target,
		"last_error":             node.LastError,
		"maintenance":            f.maintenance != "",
		"maintenance_reason":     f.maintenance,
		"reservation":            nil,
	})
	tell(f.shown)
}

func (f *fake) provision(w http.ResponseWriter, r *http.Request, v states.APIVersion) {
	var body map[string]any
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		fault(w, http.StatusBadRequest, "the body is not JSON")
		return
	}
	verb, _ := body["target"].(string)
	if f.refuses(w, verb) {
		return
	}
	node, err := f.node.Request(f.table, verb, v)
	var refused *states.RequestError
	if errors.As(err, &refused) {
		fault(w, refused.HTTPStatus(), refused.Error())
		return
	}
	event, _ := states.ParseVerb(verb)
	if field := event.Requires(); field != "" && body[field] == nil {
		fault(w, http.StatusBadRequest, field+" is missing")
		return
	}
	f.accepted = append(f.accepted, body)
	f.move(node)
	tell(f.moved)
	w.WriteHeader(http.StatusAccepted)
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(body) // fails where the client is gone
}

// fault replies in Ironic's way, with JSON in a string of JSON.
func fault(w http.ResponseWriter, status int, text string) {
	inner, _ := json.Marshal(map[string]any{"faultcode": "Client", "faultstring": text, "debuginfo": nil})
	reply(w, status, map[string]string{"error_message": string(inner)})
}

// tell leaves word in a channel that holds one.
func tell(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
