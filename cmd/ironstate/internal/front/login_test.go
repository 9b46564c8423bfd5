// SPDX-License-Identifier: Apache-2.0

package front

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"
	"golang.org/x/time/rate"

	"github.com/ironstate/ironstate/internal/bubble"
	"github.com/ironstate/ironstate/internal/clientnet"
	"github.com/ironstate/ironstate/internal/needs"
)

// rightPassword is the password of admin in newTestLogin.
const rightPassword = "correct horse"

// testLogin is a login whose comparisons are counted and take a given time, in place of the time that bcrypt takes.
type testLogin struct {
	*login
	comparisons  atomic.Int64
	atOnce, most atomic.Int64 // comparisons at the same time
}

func newTestLogin(takes time.Duration) *testLogin {
	l := &testLogin{login: newLogin(Users{"admin": []byte(rightPassword)})}
	l.comparing.free = 1
	l.compare = func(hash, password []byte) error {
		l.comparisons.Add(1)
		l.most.Store(max(l.most.Load(), l.atOnce.Add(1)))
		time.Sleep(takes)
		l.atOnce.Add(-1)
		if string(hash) != string(password) {
			return bcrypt.ErrMismatchedHashAndPassword
		}
		return nil
	}
	return l
}

// inFlight returns the number of attempts that have not ended.
func (l *testLogin) inFlight() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range l.addresses {
		n += a.attempts
	}
	return n
}

// request sends a request on a connection and returns the answer, which has status 0 if the client has gone.
func (l *testLogin) request(connection context.Context, from, name, password string) *http.Response {
	w := httptest.NewRecorder()
	w.Code = 0
	r := httptest.NewRequest(http.MethodGet, "/v1/nodes", nil).WithContext(connection)
	r.RemoteAddr = from
	r.SetBasicAuth(name, password)
	if l.admits(w, r) {
		w.WriteHeader(http.StatusOK)
	}
	return w.Result()
}

// SECURITY.md: Few passwords are compared at a time and few wait, with a limit for each address, so that a right
// password is answered while wrong ones arrive.
func TestARightPasswordIsAnsweredWithinTwoSecondsWhileWrongOnesFlood(t *testing.T) {
	needs.Time(t)
	const perSecond, seconds, takes = 1500, 20, 350 * time.Millisecond
	const user = "10.0.0.1:1"
	for _, c := range []struct {
		name  string
		flood func(l *testLogin, ctx context.Context, connections []context.Context, i int)
	}{
		{"of an unknown user, from one address, that disconnect at once", func(l *testLogin, ctx context.Context, _ []context.Context, i int) {
			ctx, leave := context.WithTimeout(ctx, time.Millisecond)
			defer leave()
			l.request(withFailedAttempts(ctx, new(atomic.Int32)), "10.0.0.2:2", "nobody", fmt.Sprint(i))
		}},
		{"from the user's address, on connections that stay", func(l *testLogin, _ context.Context, connections []context.Context, i int) {
			l.request(connections[i%len(connections)], user, "admin", fmt.Sprint(i))
		}},
		{"of one wrong password, from the user's address, each on a new connection",
			func(l *testLogin, ctx context.Context, _ []context.Context, i int) {
				l.request(withFailedAttempts(ctx, new(atomic.Int32)), user, "admin", "wrong")
			}},
		{"from 1000 addresses, each on a new connection", func(l *testLogin, ctx context.Context, _ []context.Context, i int) {
			l.request(withFailedAttempts(ctx, new(atomic.Int32)), fmt.Sprintf("10.1.%d.%d:3", i/250%4, i%250), "admin", fmt.Sprint(i))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newTestLogin(takes)
				var connections []context.Context
				for range 200 {
					connections = append(connections, withFailedAttempts(t.Context(), new(atomic.Int32)))
				}
				var clients sync.WaitGroup
				for i := range perSecond * seconds {
					clients.Go(func() {
						time.Sleep(time.Duration(i) * time.Second / perSecond)
						c.flood(l, t.Context(), connections, i)
					})
				}
				bubble.Sleep(seconds / 2 * time.Second)
				sent := time.Now() // of the bubble
				answer := l.request(withFailedAttempts(t.Context(), new(atomic.Int32)), user, "admin", rightPassword)
				require.Equal(t, http.StatusOK, answer.StatusCode)
				require.Less(t, time.Since(sent), 2*time.Second)
				sent = time.Now()
				require.Equal(t, http.StatusOK, l.request(withFailedAttempts(t.Context(), new(atomic.Int32)), user, "admin", rightPassword).StatusCode)
				require.Zero(t, time.Since(sent), "the second time it is remembered")
				clients.Wait()
				bubble.Sleep(time.Minute) // the comparison whose client has gone last
				require.LessOrEqual(t, l.comparisons.Load(), int64((seconds*time.Second+maxWait)/takes)+2)
				require.EqualValues(t, 1, l.most.Load(), "at the same time")
				require.Zero(t, l.inFlight())
			})
		})
	}
}

// SECURITY.md: Few passwords are compared at a time and few wait, with a limit for each address, so that a right
// password is answered while wrong ones arrive.
func TestAnAddressHasALimitOfComparisons(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newTestLogin(0)
		ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
		defer stop()
		var clients sync.WaitGroup
		for c := range 5 {
			clients.Go(func() {
				for i := 0; ctx.Err() == nil; i++ {
					l.request(ctx, "10.0.0.2:2", "admin", fmt.Sprint(c, i))
				}
			})
		}
		clients.Wait()
		require.InDelta(t, attemptBurst+10*attemptRate, l.comparisons.Load(), 2)
	})
}

func TestAttemptsThatWaitAreFewAndTheOthersGet503(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newTestLogin(100 * time.Millisecond)
		statuses := map[int]int{}
		var mu sync.Mutex
		var clients sync.WaitGroup
		for i := range 1000 {
			clients.Go(func() {
				answer := l.request(t.Context(), "10.0.0.2:2", "admin", fmt.Sprint(i))
				mu.Lock()
				defer mu.Unlock()
				statuses[answer.StatusCode]++
				if answer.StatusCode == http.StatusServiceUnavailable {
					require.Equal(t, "1", answer.Header.Get("Retry-After"))
				}
			})
		}
		synctest.Wait()
		require.Equal(t, maxWaitingAttempts+1, l.inFlight())
		clients.Wait()
		require.Equal(t, map[int]int{http.StatusUnauthorized: maxWaitingAttempts + 1,
			http.StatusServiceUnavailable: 1000 - maxWaitingAttempts - 1}, statuses)

		for i := range 1000 {
			clients.Go(func() { l.request(t.Context(), fmt.Sprintf("10.1.%d.%d:3", i/250, i%250), "admin", "wrong") })
		}
		synctest.Wait()
		require.Equal(t, maxWaitingAddresses+1, l.inFlight())
		clients.Wait()
	})
}

func TestNoComparisonIsMadeForAClientThatHasGone(t *testing.T) {
	synctest.Test(t, compareNothingForAClientThatHasGone)
}

func compareNothingForAClientThatHasGone(t *testing.T) {
	l := newTestLogin(0)
	require.NoError(t, l.comparing.enter(t.Context(), 0)) // the others wait
	ctx, leave := context.WithCancel(t.Context())
	const many = 100
	var clients sync.WaitGroup
	for i := range many {
		clients.Go(func() { l.request(ctx, fmt.Sprintf("10.0.0.%d:2", i), "nobody", fmt.Sprint(i%3)) })
	}
	synctest.Wait()
	require.Len(t, l.comparing.waiting, maxWaitingAddresses)
	leave()
	clients.Wait()
	l.comparing.leave()
	synctest.Wait()
	require.Zero(t, l.inFlight())
	require.Zero(t, l.comparisons.Load())
	require.Equal(t, http.StatusOK, l.request(t.Context(), "10.0.0.1:1", "admin", rightPassword).StatusCode, "the places are free again")
}

func TestOneComparisonIsMadeForAllRequestsWithTheSamePassword(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newTestLogin(time.Second)
		var clients sync.WaitGroup
		for range maxWaitingRequests - 1 {
			clients.Go(func() {
				require.Equal(t, http.StatusOK, l.request(t.Context(), "10.0.0.1:1", "admin", rightPassword).StatusCode)
			})
		}
		gone, leave := context.WithTimeout(t.Context(), time.Millisecond)
		defer leave()
		l.request(gone, "10.0.0.1:1", "admin", rightPassword)
		clients.Wait()
		require.EqualValues(t, 1, l.comparisons.Load())
	})
}

// SECURITY.md: Few passwords are compared at a time and few wait, with a limit for each address, so that a right
// password is answered while wrong ones arrive.
func TestRequestsThatWaitForOnePasswordAreFewAndTheOthersGet503(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newTestLogin(time.Second)
		statuses := map[int]int{}
		var mu sync.Mutex
		var clients sync.WaitGroup
		for range 10 * maxWaitingRequests {
			clients.Go(func() {
				answer := l.request(withFailedAttempts(t.Context(), new(atomic.Int32)), "10.0.0.2:2", "admin", "wrong")
				mu.Lock()
				defer mu.Unlock()
				statuses[answer.StatusCode]++
			})
		}
		synctest.Wait() // the first comparison has not ended
		require.Equal(t, map[int]int{http.StatusServiceUnavailable: 9 * maxWaitingRequests}, statuses)
		require.Equal(t, http.StatusOK, l.request(t.Context(), "10.0.0.1:1", "admin", rightPassword).StatusCode, "another address")
		clients.Wait()
		require.Equal(t, maxWaitingRequests, statuses[http.StatusUnauthorized])
		require.EqualValues(t, 2, l.comparisons.Load())
	})
}

func TestVerifiedPasswordsAreRememberedForMinutesAndBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newTestLogin(0)
		login := func() {
			require.NoError(t, l.verify(t.Context(), clientnet.Of("10.0.0.1:1"), 0, "admin", rightPassword))
		}
		for range 100 {
			login()
			bubble.Sleep(verifiedFor / 2)
		}
		require.EqualValues(t, 1, l.comparisons.Load())
		bubble.Sleep(verifiedFor)
		login()
		require.EqualValues(t, 2, l.comparisons.Load())
		require.ErrorIs(t, l.verify(t.Context(), clientnet.Of("10.0.0.1:1"), 0, "admin", "wrong"), errWrongPassword)
		require.Equal(t, 1, l.addresses[clientnet.Of("10.0.0.1:1")].failed)
		l.verified = map[credential]time.Time{}
		login()
		require.Zero(t, l.addresses[clientnet.Of("10.0.0.1:1")].failed, "a right password makes up for wrong ones")

		l.compare = func(_, _ []byte) error { return nil } // as of passwords whose first 72 bytes are right
		for i := range maxVerified + 100 {
			require.NoError(t, l.verify(t.Context(), clientnet.Of(fmt.Sprintf("10.%d.%d.1:1", i/250, i%250)), 0, "admin", fmt.Sprint(i)))
		}
		require.Len(t, l.verified, maxVerified)
		require.Len(t, l.addresses, maxAddresses)
		for c := range l.verified {
			require.NotContains(t, string(c[:]), rightPassword)
		}
	})
}

func TestAnUnknownUserCostsWhatAKnownOneDoes(t *testing.T) {
	for _, costs := range [][]int{{4}, {6}, {4, 5, 6}} {
		var file strings.Builder
		for _, cost := range costs {
			hash, err := bcrypt.GenerateFromPassword([]byte(rightPassword), cost)
			require.NoError(t, err)
			fmt.Fprintf(&file, "user%d:%s\n", cost, hash)
		}
		u, err := ParseUsers(file.String())
		require.NoError(t, err)
		l := newLogin(u)
		var compared []int
		l.compare = func(hash, _ []byte) error {
			cost, err := bcrypt.Cost(hash)
			require.NoError(t, err)
			compared = append(compared, cost)
			return nil // an unknown user is refused whatever the comparison says
		}
		unknown := &address{turn: gate{free: 1}, limit: rate.NewLimiter(attemptRate, attemptBurst)}
		unknown.limit.SetLimit(1e9)
		for i := range 100 {
			for range 2 {
				a := &attempt{name: fmt.Sprint("nobody", i), password: rightPassword, from: unknown}
				require.ErrorIs(t, l.inTurn(t.Context(), a), errWrongPassword)
			}
		}
		require.Subset(t, costs, compared)
		require.Subset(t, compared, costs)
		for i := 0; i < len(compared); i += 2 {
			require.Equal(t, compared[i], compared[i+1], "the same user costs the same each time")
		}
	}
}

func TestARequestWithoutAPasswordComparesNothing(t *testing.T) {
	l := newTestLogin(0)
	w := httptest.NewRecorder()
	require.False(t, l.admits(w, httptest.NewRequest(http.MethodGet, "/v1/nodes", nil)))
	require.Equal(t, http.StatusUnauthorized, w.Code)
	require.Zero(t, l.comparisons.Load())
}

func TestAGateAdmitsTheLowestRankFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gate{free: 1, queue: 4}
		require.NoError(t, g.enter(t.Context(), 9))
		var admitted, refused []string
		left, leave := context.WithCancel(t.Context())
		enter := func(ctx context.Context, name string, rank int) {
			go func() {
				err := g.enter(ctx, rank)
				switch {
				case errors.Is(err, errBusy):
					refused = append(refused, name)
				case err == nil:
					admitted = append(admitted, name)
					time.Sleep(time.Second)
					g.leave()
				default:
					require.ErrorIs(t, err, context.Canceled)
				}
			}()
			synctest.Wait()
		}
		for _, c := range []struct {
			name string
			rank int
		}{{"first", 5}, {"second", 5}, {"worst", 7}, {"best", 1}, {"also worst", 7}, {"next", 2}} {
			enter(t.Context(), c.name, c.rank)
		}
		enter(left, "gone", 0)
		require.Equal(t, []string{"also worst", "worst", "second"}, refused)
		leave()
		synctest.Wait()
		g.leave()
		bubble.Sleep(time.Minute)
		require.Equal(t, []string{"best", "next", "first"}, admitted)
		require.Equal(t, 1, g.free)
	})
}
