// SPDX-License-Identifier: Apache-2.0

package etcdtest

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
)

// Joined is a member in a goroutine.
type Joined struct {
	Leave context.CancelFunc
	seen  chan string // receives the IDs of the members after each change
	Ended chan error  // receives the error with which the membership ends
}

// Join makes a member with the ID and the host name "host of ID", until the test ends.
func Join(t *testing.T, m conductor.Membership, id string) *Joined {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	j := &Joined{Leave: cancel, seen: make(chan string, 100), Ended: make(chan error, 1)}
	var running sync.WaitGroup
	running.Go(func() {
		self := conductor.Member{ID: id, Hostname: "host of " + id, Drivers: []string{"fake-hardware"}}
		for members, err := range m.Join(ctx, self) {
			if err != nil {
				j.Ended <- err
				return
			}
			j.seen <- IDs(members)
		}
		j.Ended <- nil
	})
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	return j
}

// IDs returns the IDs of members, with spaces between.
func IDs(members []conductor.Member) string {
	var all []string
	for _, m := range members {
		all = append(all, m.ID)
	}
	return strings.Join(all, " ")
}

// Sees waits until the member has seen these members.
func (j *Joined) Sees(t *testing.T, want string) {
	t.Helper()
	for {
		select {
		case got := <-j.seen:
			if got == want {
				return
			}
		case err := <-j.Ended:
			require.Fail(t, "the member is out", "%v", err)
		case <-time.After(time.Minute):
			require.Fail(t, "the member never sees "+want)
		}
	}
}
