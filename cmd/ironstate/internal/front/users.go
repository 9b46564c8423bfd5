// SPDX-License-Identifier: Apache-2.0

package front

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync/atomic"

	"golang.org/x/crypto/bcrypt"

	"github.com/ironstate/ironstate/internal/clientnet"
)

// Users maps users to the bcrypt hashes of their passwords.
type Users map[string][]byte

// maxUsersFile bounds the size of the file of users in bytes.
const maxUsersFile = 1 << 20

// ReadUsers reads users from a file that htpasswd -B has written, as Ironic's http_basic does. Empty lines and those
// that begin with # are ignored. A file of more than 1 MiB, one without users, and one with another line are errors,
// which name the line and not its text.
func ReadUsers(path string) (Users, error) {
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
	found, number := Users{}, 0
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

// Guard wraps a handler with HTTP Basic authentication. Requests for which isPublic is true need no password.
func (u Users) Guard(isPublic func(*http.Request) bool, next http.Handler) http.Handler {
	l := newLogin(u)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isPublic(r) || l.admits(w, r) {
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
		Respond(w, http.StatusServiceUnavailable, "Too many passwords are waiting to be verified, please try again later")
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
	Respond(w, http.StatusUnauthorized, "Authorization required")
}

// Respond responds with a status and a text in the form of Ironic's middleware. The text has no characters that JSON
// escapes.
func Respond(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"error":{"message":"%s","code":%d}}`+"\n", text, status)
}
