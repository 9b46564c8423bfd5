package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"

	"golang.org/x/crypto/bcrypt"

	"github.com/ironstate/ironstate/examples/conductor/explorer"
)

// users are the bcrypt hashes of passwords by user, as Ironic's http_basic takes them
// from a file that htpasswd -B has written.
type users map[string][]byte

// maxUsersFile bounds the file of users.
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

// guard wraps a handler that only users may call. As in Ironic, the version documents
// are for everybody. A bcrypt hash takes a processor for some 50 ms: a password that
// was right is remembered, as a hash that is quick to compare.
func (u users) guard(next http.Handler) http.Handler {
	var known sync.Map                          // [32]byte of user and password
	comparing := make(chan struct{}, maxBcrypt) // so that wrong passwords leave processors to others
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !explorer.Asked(r) && (r.URL.Path == "/" || r.URL.Path == "/v1" || r.URL.Path == "/v1/") {
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

// maxBcrypt is how many passwords are compared at a time.
const maxBcrypt = 2

// nobody is compared with where there is no such user, so that the time of an answer
// does not tell whether there is.
var nobody, _ = bcrypt.GenerateFromPassword([]byte("nobody"), bcrypt.DefaultCost)

func (u users) right(name, password string) bool {
	hash, ok := u[name]
	if !ok {
		hash = nobody
	}
	return bcrypt.CompareHashAndPassword(hash, []byte(password)) == nil && ok
}

// refuse answers as Ironic's middleware does.
func refuse(w http.ResponseWriter) {
	w.Header().Set("WWW-Authenticate", `Basic realm="Baremetal API"`)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusUnauthorized)
	fmt.Fprintln(w, `{"error":{"message":"Authorization required","code":401}}`)
}
