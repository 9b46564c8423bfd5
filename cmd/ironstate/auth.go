// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync/atomic"

	"golang.org/x/crypto/bcrypt"

	"github.com/ironstate/ironstate/cmd/ironstate/explorer"
	"github.com/ironstate/ironstate/internal/clientnet"
)

// users maps users to the bcrypt hashes of their passwords. They are read from a file of
// htpasswd -B, as by Ironic's http_basic.
type users map[string][]byte

// maxUsersFile bounds the size of the file of users in bytes.
const maxUsersFile = 1 << 20

func readUsers(path string) (users, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxUsersFile+1))
	switch {
	case err != nil:
		return nil, err
	case len(text) > maxUsersFile:
		return nil, fmt.Errorf("%s has more than %d bytes", path, maxUsersFile)
	}
	found, number := users{}, 0
	for line := range strings.Lines(string(text)) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, hash, ok := strings.Cut(line, ":")
		if _, err := bcrypt.Cost([]byte(hash)); !ok || name == "" || err != nil {
			return nil, fmt.Errorf("line %d of %s is no user with a bcrypt hash, as htpasswd -B writes it", number, path)
		}
		found[name] = []byte(hash)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s has no users", path)
	}
	return found, nil
}

// public matches the paths that need no authentication: the version documents, and those that agents use. A heartbeat
// needs a token; a lookup and inspection data are accepted only for a node that waits for them.
//
// Source: acl_public_routes in ironic/api/config.py.
var public = regexp.MustCompile(`^(/|/v1|/v1/lookup|/v1/heartbeat/[a-z0-9-]+|/v1/continue_inspection)(\.json)?/*$`)

// guard wraps a handler with HTTP Basic authentication.
func (u users) guard(next http.Handler) http.Handler {
	l := newLogin(u)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !explorer.Asked(r) && public.MatchString(r.URL.Path) || l.admits(w, r) {
			next.ServeHTTP(w, r)
		}
	})
}

// admits reports whether a request has a right password. If it has none, the request is answered.
func (l *login) admits(w http.ResponseWriter, r *http.Request) bool {
	name, password, given := r.BasicAuth()
	if !given {
		refuse(w)
		return false
	}
	failed := failedAttempts(r.Context())
	before := failed.Add(1) - 1
	err := l.verify(r.Context(), clientnet.Of(r.RemoteAddr), int(before), name, password)
	switch {
	case err == nil:
		failed.Add(-1)
	case errors.Is(err, errWrongPassword):
		refuse(w)
	case errors.Is(err, errBusy):
		w.Header().Set("Retry-After", "1")
		respond(w, http.StatusServiceUnavailable, "Too many passwords are waiting to be verified, please try again later")
	} // otherwise the client has gone
	return err == nil
}

func failedAttempts(ctx context.Context) *atomic.Int32 {
	if count, ok := ctx.Value(failedKey{}).(*atomic.Int32); ok {
		return count
	}
	return new(atomic.Int32)
}

// refuse responds with the 401 of Ironic's middleware.
func refuse(w http.ResponseWriter) {
	w.Header().Set("WWW-Authenticate", `Basic realm="Baremetal API"`)
	respond(w, http.StatusUnauthorized, "Authorization required")
}

// respond responds with a status and a text in the form of Ironic's middleware.
func respond(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"error":{"message":"%s","code":%d}}`+"\n", text, status)
}
