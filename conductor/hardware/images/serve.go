// SPDX-License-Identifier: Apache-2.0

package images

import (
	"net/http"
	"net/netip"
	"os"
	"strings"
	"time"
)

// A transfer may take minTransfer and the time of its bytes at minRate bytes a second.
const (
	minTransfer = 2 * time.Minute
	minRate     = 128 << 10
)

// Serves reports whether a path is one that the Server answers.
func (s *Server) Serves(path string) bool { return strings.HasPrefix(path, s.path) }

// ServeHTTP implements [http.Handler]. It answers GET and HEAD for published images, also for parts of
// them, and for iPXE scripts, with 403 to an address that Config.Machines refuses, and with 404 for everything else.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, ok := strings.CutPrefix(r.URL.Path, s.path)
	switch {
	case !ok || name != bootScript && !scriptPattern.MatchString(name) && !namePattern.MatchString(name):
		http.NotFound(w, r)
		return
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "405 method not allowed", http.StatusMethodNotAllowed)
		return
	}
	if s.config.Machines != nil && !strings.HasSuffix(name, ".iso") {
		from, err := netip.ParseAddrPort(r.RemoteAddr)
		if err != nil || !s.config.Machines(from.Addr()) {
			http.Error(w, "403 the address is not in a network of machines", http.StatusForbidden)
			return
		}
	}
	if strings.HasSuffix(name, ".ipxe") {
		s.serveScript(w, r, name)
		return
	}
	file, err := s.published.Open(name)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	defer file.Close()
	select {
	case s.transfers <- struct{}{}:
		defer func() { <-s.transfers }()
		s.send(w, r, file)
	default:
		w.Header().Set("Retry-After", "5")
		http.Error(w, "503 too many transfers", http.StatusServiceUnavailable)
	}
}

// send sends a published image or the parts of it that are asked for.
func (s *Server) send(w http.ResponseWriter, r *http.Request, file *os.File) {
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		http.NotFound(w, r)
		return
	}
	atMost := minTransfer + time.Duration(info.Size()/minRate)*time.Second
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(atMost)) // the server's own deadline applies otherwise
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Cache-Control", "no-store")
	http.ServeContent(w, r, "", info.ModTime(), file)
}
