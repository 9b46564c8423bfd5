// SPDX-License-Identifier: Apache-2.0

package agenttest

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"strings"

	"github.com/ironstate/ironstate/internal/sleep"
)

// maxCommand bounds the body of a command. It contains a config drive, which is compressed and then encoded.
const maxCommand = 96 << 20

// serve begins to serve the agent's API. The function stop ends it: it lets requests in flight end unless the agent has
// ended.
//
// Source: ironic_python_agent/api/app.py.
func (a *agent) serve() (stop func(), err error) {
	listener, err := net.Listen("tcp", net.JoinHostPort(a.machine.config.Host, "0"))
	if err != nil {
		return nil, err
	}
	scheme := "http"
	if a.version >= caAPI && !a.machine.config.PlainHTTP {
		certificate, ca, err := newCertificate(a.machine.config.Host)
		if err != nil {
			_ = listener.Close()
			return nil, err
		}
		a.ca, scheme = ca, "https"
		listener = tls.NewListener(listener, &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12})
	}
	a.callback = scheme + "://" + listener.Addr().String()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", a.root)
	mux.HandleFunc("GET /v1/{$}", a.root)
	mux.HandleFunc("GET /v1/status", a.status)
	mux.HandleFunc("GET /v1/commands/{$}", a.read(a.list))
	mux.HandleFunc("GET /v1/commands/{id}", a.read(a.show))
	mux.HandleFunc("POST /v1/commands/{$}", a.post)
	server := &http.Server{Handler: a.counted(mux), ErrorLog: log.New(io.Discard, "", 0)}
	a.machine.start(func() { _ = server.Serve(listener) }) // it ends with stop
	return func() {
		_ = server.Shutdown(a.ctx)
		_ = server.Close()
		_ = listener.Close()
	}, nil
}

// counted makes Machine.Close wait for requests in flight. A request that arrives later gets no answer.
func (a *agent) counted(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !a.machine.enter() {
			panic(http.ErrAbortHandler)
		}
		defer a.machine.wg.Done()
		handler.ServeHTTP(w, r)
		if a.ctx.Err() != nil {
			panic(http.ErrAbortHandler) // the machine is off
		}
	})
}

func (a *agent) root(w http.ResponseWriter, _ *http.Request) {
	version := map[string]any{"id": "v1", "links": []any{map[string]any{"href": a.callback + "/v1", "rel": "self"}}}
	write(w, http.StatusOK, map[string]any{
		"name": "OpenStack Ironic Python Agent API", "description": "Ironic Python Agent is a provisioning agent for OpenStack Ironic",
		"versions": []any{version}, "default_version": version,
	}, 0)
}

func (a *agent) status(w http.ResponseWriter, _ *http.Request) {
	write(w, http.StatusOK, map[string]any{"started_at": float64(a.started.UnixNano()) / 1e9, "version": a.machine.config.Version}, 0)
}

// read returns a handler of requests that read commands. It applies faults and checks the token before it answers, with
// a number of bytes more.
func (a *agent) read(answer func(w http.ResponseWriter, r *http.Request, extra int)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		e := a.machine.effectOn("commands")
		if e.kind == effectDelay && !sleep.For(a.ctx, e.wait) || !a.admit(w, r, e, a.machine.config.ReadsNeedToken) {
			return
		}
		answer(w, r, e.n)
	}
}

// list answers GET /v1/commands/.
func (a *agent) list(w http.ResponseWriter, _ *http.Request, extra int) {
	a.mu.Lock()
	all := []any{}
	for _, c := range a.commands {
		all = append(all, c.shown())
	}
	a.mu.Unlock()
	write(w, http.StatusOK, map[string]any{"commands": all}, extra)
}

// show answers GET /v1/commands/ID.
func (a *agent) show(w http.ResponseWriter, r *http.Request, extra int) {
	c := a.command(r.PathValue("id"))
	if c == nil {
		refuse(w, http.StatusNotFound, "Not found: Command Result with id "+r.PathValue("id")+" not found.")
		return
	}
	a.answer(w, r, c, extra)
}

// post answers POST /v1/commands/.
func (a *agent) post(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Name   string         `json:"name"`
		Params map[string]any `json:"params"`
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxCommand))
	if err == nil {
		err = json.Unmarshal(text, &body)
	}
	if err != nil || body.Name == "" || body.Params == nil {
		refuse(w, http.StatusBadRequest, "400 Bad Request: Missing or invalid name or params")
		return
	}
	_, short, _ := strings.Cut(body.Name, ".")
	names := []string{short}
	step, _ := body.Params["step"].(map[string]any)
	if name, ok := step["step"].(string); ok {
		names = append(names, name)
	}
	e := a.machine.effectOn(names...)
	if !a.admit(w, r, e, true) {
		return
	}
	a.machine.receive(Command{Name: body.Name, Params: body.Params})
	c, refused := a.accept(body.Name, body.Params, waits(r), e)
	if refused != nil {
		refuse(w, refused.Code, refused.Error())
		return
	}
	a.answer(w, r, c, e.n)
}

// admit applies the effect of a fault and checks the token. If it returns false, the request is answered or dropped.
func (a *agent) admit(w http.ResponseWriter, r *http.Request, e Effect, needsToken bool) bool {
	switch e.kind {
	case effectSilent:
		select {
		case <-a.ctx.Done():
		case <-r.Context().Done():
		}
		return false
	case effectGarbage:
		_, _ = io.WriteString(w, "<html>Welcome to the appliance</html>")
		return false
	case effectBusy:
		f := busyWith("execute_clean_step")
		refuse(w, f.Code, f.Error())
		return false
	}
	a.mu.Lock()
	token := a.token
	a.mu.Unlock()
	if needsToken && (e.kind == effectWrongToken || token != "" && r.URL.Query().Get("agent_token") != token) {
		refuse(w, http.StatusUnauthorized, "401 Unauthorized: Token invalid.")
		return false
	}
	return true
}

// waits reports whether a client wants to wait for the end of a command.
func waits(r *http.Request) bool { return strings.EqualFold(r.URL.Query().Get("wait"), "true") }

// answer sends the result of a command, at once or after its end.
func (a *agent) answer(w http.ResponseWriter, r *http.Request, c *command, extra int) {
	if waits(r) {
		select {
		case <-c.done:
		case <-a.ctx.Done():
		}
		if a.ctx.Err() != nil { // also if the command has ended the agent
			return
		}
	}
	a.mu.Lock()
	shown := c.shown()
	a.mu.Unlock()
	write(w, http.StatusOK, shown, extra)
	_ = http.NewResponseController(w).Flush()
	c.markAnswered()
}

// refuse answers with an error in the agent's form.
func refuse(w http.ResponseWriter, status int, text string) {
	code := "Client"
	if status >= http.StatusInternalServerError {
		code = "Server"
	}
	write(w, status, map[string]any{"faultcode": code, "faultstring": text}, 0)
}

// write answers with a value, and makes the answer a number of bytes longer.
func write(w http.ResponseWriter, status int, value map[string]any, extra int) {
	if extra > 0 {
		value["padding"] = strings.Repeat("x", extra)
	}
	text, err := json.Marshal(value)
	if err != nil {
		status, text = http.StatusInternalServerError, fmt.Appendf(nil, `{"faultcode": "Server", "faultstring": %q}`, err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(text))) // the answer is whole after Flush, also if the agent ends then
	w.WriteHeader(status)
	_, _ = w.Write(text)
}
