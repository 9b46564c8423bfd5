// SPDX-License-Identifier: Apache-2.0

package front

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"maps"
	"net/netip"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/crypto/bcrypt"
	"golang.org/x/time/rate"
)

// Limits of the comparisons of passwords with bcrypt, of which each takes about 50 ms of processor time, or as much as
// the cost of its hash makes it.
const (
	maxWaitingAddresses = 16              // comparisons that wait for a processor, at most one of each address
	maxWaitingAttempts  = 8               // attempts of one address that wait for its turn
	maxWaitingRequests  = 64              // requests that wait for one attempt, since each holds its header
	maxWait             = 2 * time.Second // before a comparison
	attemptRate         = 5               // comparisons per second of one address
	attemptBurst        = 10              // comparisons of one address before attemptRate applies
	maxAddresses        = 4096            // addresses whose comparisons are counted
	maxVerified         = 4096            // verified passwords that are remembered
	verifiedFor         = 5 * time.Minute // since the password was last used
)

// login verifies passwords. It compares few of them at a time, so that an attacker does not occupy the processors, and
// prefers the addresses and connections that have sent the fewest wrong passwords, so that others are not kept waiting.
type login struct {
	users   Users
	names   []string // of users, sorted
	key     [sha256.Size]byte
	compare func(hash, password []byte) error

	comparing gate // by the attempts of an address that have failed

	mu        sync.Mutex
	verified  map[credential]time.Time // the last use
	attempts  map[attemptKey]*attempt
	addresses map[netip.Prefix]*address
}

// credential is a hash of a user and a password, keyed with a random key of this process, so that it can be compared
// fast.
type credential [sha256.Size]byte

type attemptKey struct {
	credential credential
	from       netip.Prefix
}

// attempt is one comparison for all requests of an address that have the same user and password.
type attempt struct {
	name, password string
	from           *address
	rank           int // the attempts of the address that had failed before
	failed         int // and of the connection

	requests int // that wait for it
	cancel   context.CancelFunc
	done     chan struct{}
	err      error // set before done is closed
}

// address is the state of the comparisons for one client address.
type address struct {
	attempts int  // in flight
	failed   int  // attempts since the last right password, including those in flight
	turn     gate // by the attempts of a connection that have failed
	limit    *rate.Limiter
}

var errWrongPassword = errors.New("the user or the password is wrong")

func newLogin(u Users) *login {
	l := &login{
		users: u, names: slices.Sorted(maps.Keys(u)), compare: bcrypt.CompareHashAndPassword,
		comparing: gate{free: max(1, runtime.GOMAXPROCS(0)/2), queue: maxWaitingAddresses},
		verified:  map[credential]time.Time{}, attempts: map[attemptKey]*attempt{}, addresses: map[netip.Prefix]*address{},
	}
	_, _ = rand.Read(l.key[:]) // does not fail
	return l
}

// verify returns nil for a right password, and errWrongPassword, errBusy or the context's error otherwise. It returns
// errBusy at once if maxWaitingRequests requests of the address wait for the same password. ctx is the context of the
// request: a comparison that no client waits for is not made. failed is the number of attempts of the same connection
// that have failed.
func (l *login) verify(ctx context.Context, from netip.Prefix, failed int, name, password string) error {
	key := attemptKey{credential: l.credential(name, password), from: from}
	l.mu.Lock()
	if l.isVerified(key.credential) {
		l.mu.Unlock()
		return nil
	}
	a, found := l.attempts[key]
	if found && a.requests >= maxWaitingRequests {
		l.mu.Unlock()
		return errBusy
	}
	if !found {
		var attemptCtx context.Context
		source := l.address(from)
		a = &attempt{name: name, password: password, from: source, rank: source.failed, failed: failed, done: make(chan struct{})}
		attemptCtx, a.cancel = context.WithTimeout(context.WithoutCancel(ctx), maxWait)
		l.attempts[key] = a
		source.attempts++
		source.failed++
		go func() { l.end(key, a, l.inTurn(attemptCtx, a)) }()
	}
	a.requests++
	l.mu.Unlock()
	select {
	case <-a.done:
		return a.err
	case <-ctx.Done():
		l.mu.Lock()
		defer l.mu.Unlock()
		if a.requests--; a.requests == 0 {
			a.cancel()
			l.forget(key, a)
		}
		return ctx.Err()
	}
}

// inTurn makes a comparison when it is the turn of its address by the rank, and of the connection by its failed
// attempts. It returns errBusy if that takes too long.
func (l *login) inTurn(ctx context.Context, a *attempt) error {
	if a.from.turn.enter(ctx, a.failed) != nil {
		return errBusy
	}
	defer a.from.turn.leave()
	if a.from.limit.Wait(ctx) != nil || l.comparing.enter(ctx, a.rank) != nil {
		return errBusy
	}
	defer l.comparing.leave()
	if ctx.Err() != nil {
		return errBusy
	}
	hash, known := l.users[a.name]
	if !known { // a hash of the file, always the same one for this name: the time of the answer does not tell that the user is unknown
		sum := l.credential(a.name, "")
		hash = l.users[l.names[binary.BigEndian.Uint64(sum[:])%uint64(len(l.names))]]
	}
	if l.compare(hash, []byte(a.password)) != nil || !known {
		return errWrongPassword
	}
	return nil
}

// end stores the result of an attempt and tells the requests that wait for it.
func (l *login) end(key attemptKey, a *attempt, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a.cancel()
	a.from.attempts--
	l.forget(key, a)
	if a.err = err; err == nil {
		a.from.failed = 0
		makeRoom(l.verified, maxVerified, func(time.Time) bool { return true })
		l.verified[key.credential] = time.Now()
	}
	close(a.done)
}

// forget removes an attempt, unless another has replaced it. The caller holds mu.
func (l *login) forget(key attemptKey, a *attempt) {
	if l.attempts[key] == a {
		delete(l.attempts, key)
	}
}

// isVerified reports whether a password is remembered as right, and remembers it for longer. The caller holds mu.
func (l *login) isVerified(c credential) bool {
	now := time.Now()
	used, found := l.verified[c]
	if !found {
		return false
	}
	if now.Sub(used) > verifiedFor {
		delete(l.verified, c)
		return false
	}
	l.verified[c] = now
	return true
}

// address returns the state of a client address. The caller holds mu.
func (l *login) address(from netip.Prefix) *address {
	found, ok := l.addresses[from]
	if !ok {
		makeRoom(l.addresses, maxAddresses, func(a *address) bool { return a.attempts == 0 })
		found = &address{turn: gate{free: 1, queue: maxWaitingAttempts}, limit: rate.NewLimiter(attemptRate, attemptBurst)}
		l.addresses[from] = found
	}
	return found
}

// makeRoom removes some entry that may be removed from a map with limit entries.
func makeRoom[K comparable, V any](m map[K]V, limit int, removable func(V) bool) {
	if len(m) < limit {
		return
	}
	for key, value := range m {
		if removable(value) {
			delete(m, key)
			return
		}
	}
}

func (l *login) credential(name, password string) (c credential) {
	mac := hmac.New(sha256.New, l.key[:])
	_ = binary.Write(mac, binary.BigEndian, uint64(len(name))) // does not fail
	mac.Write([]byte(name))
	mac.Write([]byte(password))
	mac.Sum(c[:0])
	return c
}
