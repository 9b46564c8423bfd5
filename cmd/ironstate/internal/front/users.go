// SPDX-License-Identifier: Apache-2.0

package front

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"

	"golang.org/x/crypto/bcrypt"

	"github.com/ironstate/ironstate/internal/clientnet"
)

// Users maps users to the bcrypt hashes of their passwords.
type Users map[string][]byte

// wholeHash matches a bcrypt hash that is not cut off. Package bcrypt finds that out when it compares a password.
var wholeHash = regexp.MustCompile(`^\$2[abxy]\$[0-9]{2}\$[./A-Za-z0-9]{53}$`)

// ParseUsers returns the users of a file that htpasswd -B has written, as Ironic's http_basic does. It ignores empty
// lines and those that begin with #. A text without users, a line that is no user, and a user of an earlier line are
// errors, which have the number of the line and not its text.
func ParseUsers(text string) (Users, error) {
	found, number := Users{}, 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, hash, ok := strings.Cut(line, ":")
		if _, err := bcrypt.Cost([]byte(hash)); !ok || name == "" || err != nil || !wholeHash.MatchString(hash) {
			return nil, fmt.Errorf("line %d is no user with a bcrypt hash, as htpasswd -B writes it", number)
		}
		if found[name] != nil {
			return nil, fmt.Errorf("line %d repeats a user: want each once, with one password", number)
		}
		found[name] = []byte(hash)
	}
	if len(found) == 0 {
		return nil, errors.New("the file has no users")
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
