// SPDX-License-Identifier: Apache-2.0

package etcdtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

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

// BeMember makes a child process a member: it prints "joined" and stays a member until it loses its
// membership or its parent ends.
func BeMember(m conductor.Membership, id string) error {
	go func() {
		UntilParentEnds()
		os.Exit(0)
	}()
	joined := false
	for _, err := range m.Join(context.Background(), conductor.Member{ID: id, Hostname: id}) {
		if err != nil {
			return err
		}
		if !joined {
			fmt.Println("joined")
			joined = true
		}
	}
	return errors.New("the membership has ended without an error")
}

// IDs returns the IDs of members, with spaces between; "!" follows the ID of a member that drains.
func IDs(members []conductor.Member) string {
	var all []string
	for _, m := range members {
		id := m.ID
		if m.Draining {
			id += "!"
		}
		all = append(all, id)
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
		}
	}
}
