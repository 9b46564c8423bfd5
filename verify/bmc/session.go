package bmc

import (
	"context"
	"net/http"
	"net/url"
	"strings"
)

// sessions has the Redfish sessions that are open: the path of each, and its
// token.
type sessions map[string]string

// isLogin reports whether a request creates a session (DSP0266).
func isLogin(req *http.Request) bool {
	return req.Method == http.MethodPost && strings.HasSuffix(strings.TrimSuffix(req.URL.Path, "/"), "/Sessions")
}

// noteSession keeps account of the sessions. Where a proxy has put the base path
// before a session's, it is taken off, since it is put before each request's.
func (t *transport) noteSession(req *http.Request, resp *http.Response) {
	if resp.StatusCode/100 != 2 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if req.Method == http.MethodDelete {
		delete(t.sessions, req.URL.Path)
		return
	}
	token := resp.Header.Get("X-Auth-Token")
	location, err := url.Parse(resp.Header.Get("Location"))
	if !isLogin(req) || token == "" || err != nil || location.Path == "" {
		return
	}
	path := strings.TrimPrefix(location.Path, t.config.BasePath)
	resp.Header.Set("Location", path)
	t.sessions[path] = token
}

// close logs out of what is still open, and closes the connections.
func (t *transport) close(ctx context.Context) {
	defer t.base.CloseIdleConnections()
	t.mu.Lock()
	open := t.sessions
	t.sessions = sessions{}
	t.mu.Unlock()
	for path, token := range open {
		session := &url.URL{Scheme: "https", Host: t.host, Path: t.config.BasePath + path}
		req, err := http.NewRequestWithContext(ctx, http.MethodDelete, session.String(), nil)
		if err != nil {
			continue
		}
		req.Header.Set("X-Auth-Token", token)
		if resp, err := t.base.RoundTrip(req); err == nil {
			resp.Body.Close()
		}
	}
}
