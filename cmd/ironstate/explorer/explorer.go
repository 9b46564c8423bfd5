// SPDX-License-Identifier: Apache-2.0

package explorer

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/masked"
)

// Explorer serves the nodes of one conductor. [New] makes it, [Explorer.Run] follows the nodes, and
// [Explorer.Around] wraps the API. It is safe for concurrent use.
type Explorer struct {
	conductor *conductor.Conductor
	expected  conductor.ExpectedTimes
	title     string
	trouble   func() string
	fleet     *fleet
	paths     *http.ServeMux
	listeners chan struct{} // semaphore; one element for each stream of events

	once  sync.Once
	asked chan struct{}   // closed by the first request
	live  context.Context // ends when Run returns
	end   context.CancelFunc
}

// maxListeners bounds the concurrent streams of events.
const maxListeners = 100

// New returns an explorer of a conductor's nodes. It does no work before the first request. The page's title is the
// fleet's name; if it is empty, the title names the conductor. The page shows what trouble returns, the reason why
// changes are refused, empty for none. Each stream calls trouble every second.
func New(c *conductor.Conductor, fleetName string, trouble func() string) *Explorer {
	e := &Explorer{
		conductor: c, expected: c.ExpectedTimes(), title: cmp.Or(fleetName, "Nodes of "+c.Name()), trouble: trouble,
		fleet: newFleet(), paths: http.NewServeMux(), listeners: make(chan struct{}, maxListeners), asked: make(chan struct{}),
	}
	e.live, e.end = context.WithCancel(context.Background())
	e.paths.HandleFunc("GET /{$}", serve("text/html; charset=utf-8", "page.html"))
	e.paths.HandleFunc("GET /explorer/live.js", serve("text/javascript; charset=utf-8", "common.js", "diagram.js", "node.js", "live.js"))
	e.paths.HandleFunc("GET /explorer/live.css", serve("text/css; charset=utf-8", "live.css"))
	e.paths.HandleFunc("GET /explorer/events", e.events)
	e.paths.HandleFunc("GET /explorer/nodes", e.nodes)
	e.paths.HandleFunc("GET /explorer/nodes/{ident}", e.node)
	return e
}

// Run waits for the first request and then follows the conductor's nodes until the context ends. It
// returns the context's error and ends all streams of events. It may be called once.
func (e *Explorer) Run(ctx context.Context) error {
	defer e.end()
	select {
	case <-e.asked:
	case <-ctx.Done():
		return ctx.Err()
	}
	for change := range e.conductor.WatchNodes(ctx) {
		e.fleet.apply(change)
	}
	return ctx.Err()
}

// Around returns a handler that serves requests for the explorer and passes all others to the API.
func (e *Explorer) Around(api http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			w.Header().Add("Vary", "Accept")
		}
		if !Asked(r) {
			api.ServeHTTP(w, r)
			return
		}
		e.once.Do(func() { close(e.asked) })
		header := w.Header()
		header.Set("Content-Security-Policy", policy())
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Cross-Origin-Resource-Policy", "same-origin")
		e.paths.ServeHTTP(w, r)
	})
}

// Asked reports whether a request is for the explorer: for one of its paths, or for "/"
// by a client that prefers HTML to Ironic's version document.
func Asked(r *http.Request) bool {
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead
	return strings.HasPrefix(r.URL.Path, "/explorer/") || r.URL.Path == "/" && reads && prefersHTML(r.Header.Values("Accept"))
}

//go:embed page.html common.js diagram.js node.js live.js live.css
var files embed.FS

// read returns the concatenated contents of embedded files.
func read(names ...string) []byte {
	var content []byte
	for _, name := range names {
		part, err := files.ReadFile(name)
		if err != nil {
			panic(err) // cannot happen: the file is embedded
		}
		content = append(content, part...)
	}
	return content
}

// policy returns the Content-Security-Policy of the page's meta element, extended so that no other
// page can show it in a frame.
var policy = sync.OnceValue(func() string {
	_, rest, _ := strings.Cut(string(read("page.html")), `http-equiv="Content-Security-Policy" content="`)
	content, _, _ := strings.Cut(rest, `"`)
	return content + "; frame-ancestors 'none'"
})

// serve returns a handler for the concatenation of embedded files. Clients cache it and revalidate
// it.
func serve(contentType string, names ...string) http.HandlerFunc {
	tag := sync.OnceValue(func() string {
		sum := sha256.Sum256(read(names...))
		return `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`
	})
	return func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Type", contentType)
		header.Set("Cache-Control", "no-cache")
		header.Set("ETag", tag())
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(read(names...)))
	}
}

// reply responds with JSON that must not be cached. The passwords of URLs are masked in its texts.
func reply(w http.ResponseWriter, status int, value any) {
	header := w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	body, _ := json.Marshal(value) // never fails for these types
	var plain any
	if bytes.IndexByte(body, '@') >= 0 && json.Unmarshal(body, &plain) == nil {
		body, _ = json.Marshal(masked.Value(plain))
	}
	_, _ = w.Write(body) // fails only if the client has disconnected
}

func refuse(w http.ResponseWriter, status int, text string) {
	reply(w, status, map[string]string{"error": text})
}
