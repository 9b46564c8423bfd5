package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"

	"golang.org/x/crypto/bcrypt"

	"github.com/ironstate/ironstate/cmd/ironstate/explorer"
)

// users maps users to the bcrypt hashes of their passwords. They are read from a file of
// htpasswd -B, as by Ironic's http_basic.
type users map[string][]byte

// maxUsersFile bounds the size of the file of users in bytes.
const maxUsersFile = 1 << 20

func readUsers(path string) (users, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("-auth-file: %w", err)
	}
	if info.Size() > maxUsersFile {
		return nil, fmt.Errorf("-auth-file: %s has more than %d bytes", path, maxUsersFile)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("-auth-file: %w", err)
	}
	found := users{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for number := 1; lines.Scan(); number++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, hash, ok := strings.Cut(line, ":")
		if _, err := bcrypt.Cost([]byte(hash)); !ok || name == "" || err != nil {
			return nil, fmt.Errorf("-auth-file: line %d of %s is no user with a bcrypt hash, as htpasswd -B writes it", number, path)
		}
		found[name] = []byte(hash)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("-auth-file: %w", err)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("-auth-file: %s: %w", path, errNoUsers)
	}
	return found, nil
}

// public matches the paths that need no authentication: the version documents, and the two that
// an agent uses, which has a token instead.
//
// Source: acl_public_routes in ironic/api/config.py.
var public = regexp.MustCompile(`^(/|/v1|/v1/lookup|/v1/heartbeat/[a-z0-9-]+)(\.json)?/*$`)

// guard wraps a handler with HTTP Basic authentication. A bcrypt comparison takes about 50 ms of processor time, so guard caches
// correct passwords as hashes that are fast to compare.
func (u users) guard(next http.Handler) http.Handler {
	var known sync.Map                          // set of [32]byte hashes of user and password
	comparing := make(chan struct{}, maxBcrypt) // limits the processors that wrong passwords occupy
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !explorer.Asked(r) && public.MatchString(r.URL.Path) {
			next.ServeHTTP(w, r)
			return
		}
		name, password, _ := r.BasicAuth()
		sum := sha256.Sum256([]byte(name + "\x00" + password))
		if _, ok := known.Load(sum); !ok {
			comparing <- struct{}{}
			right := u.right(name, password)
			<-comparing
			if !right {
				refuse(w)
				return
			}
			known.Store(sum, true)
		}
		next.ServeHTTP(w, r)
	})
}

// maxBcrypt bounds the concurrent bcrypt comparisons.
const maxBcrypt = 2

// nobody is the hash that is compared for an unknown user, so that the response time does not
// reveal whether the user exists.
var nobody, _ = bcrypt.GenerateFromPassword([]byte("nobody"), bcrypt.DefaultCost)

func (u users) right(name, password string) bool {
	hash, ok := u[name]
	if !ok {
		hash = nobody
	}
	return bcrypt.CompareHashAndPassword(hash, []byte(password)) == nil && ok
}

// refuse responds with the 401 of Ironic's middleware.
func refuse(w http.ResponseWriter) {
	w.Header().Set("WWW-Authenticate", `Basic realm="Baremetal API"`)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusUnauthorized)
	fmt.Fprintln(w, `{"error":{"message":"Authorization required","code":401}}`)
}
