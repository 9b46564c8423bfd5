// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"context"
	"errors"
	"iter"
	"sync"
	"time"
)

// Member is a conductor that is alive.
type Member struct {
	// ID is new each time that a process joins. It distinguishes a process from an earlier
	// one with the same name.
	ID        string    `json:"id"`
	Hostname  string    `json:"hostname"`
	Group     string    `json:"conductor_group"`
	Drivers   []string  `json:"drivers"`
	CreatedAt time.Time `json:"created_at"`
	// Descriptions describes the member's Drivers, for the members that lack them.
	Descriptions map[string]Description `json:"descriptions,omitzero"`
	// Draining says that the member ends the work that it has and takes no other: it owns no node, see [Drainer].
	Draining bool `json:"draining,omitzero"`
}

// Drainer is a [Membership] that tells the members when one of them stops, so that they take its nodes over while it
// ends its work. Without it they do so once the member has left.
//
// Source: drain_shutdown_timeout in ironic/conf/default.py, since Ironic 24.0.0 (2024.1).
type Drainer interface {
	// Drain sets Draining of a member that joined through this Membership. The members see it as a change of the list.
	Drain(ctx context.Context, id string) error
}

// ErrNameTaken says that a conductor could not join because a live one has its name. Nodes are divided by the names of
// the conductors.
var ErrNameTaken = errors.New("another conductor with this name is alive: give each its own name")

// Membership reports which conductors of a [Store] are alive. CheckMembership of package storetest, below, checks an
// implementation.
type Membership interface {
	// Join makes a conductor a member until the context ends or the caller leaves the
	// range. It yields the list of all members, including the new one, once the conductor
	// has joined and again whenever a member joins or leaves. An error means that the
	// conductor has lost its membership or could not join; the range then ends. It matches ErrNameTaken
	// if a live member has the same Hostname. A process that has the name of one that has just died waits
	// in Join until the others have seen that one leave.
	//
	// A member that dies, hangs or is cut off loses its membership within a time that the
	// implementation documents. The others see it leave only after its own Holds reports false.
	// A caller that takes long with a list remains a member.
	Join(ctx context.Context, self Member) iter.Seq2[[]Member, error]

	// Alive reports whether a member has the ID, at some moment after the call has
	// begun. Once it has reported false for an ID, it never reports true again.
	Alive(ctx context.Context, id string) (bool, error)

	// Holds reports whether a member that joined through this Membership certainly still is
	// one, by the clock of this process. It does no I/O. A process that was suspended resumes
	// in the middle of its work, and may have lost its membership before Join has yielded the
	// error. The conductor therefore calls Holds before each operation on hardware, and the
	// hardware types of this project before each request of an operation, see [Permit]. Only
	// a request that is being sent when the process is suspended can still reach the hardware
	// after the membership was lost: one request for each node.
	Holds(id string) bool
}

// alone is the membership of the only conductor of a store.
type alone struct {
	mu sync.Mutex
	id string
}

func (a *alone) Alive(_ context.Context, id string) (bool, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.id == id, nil
}

func (a *alone) Holds(id string) bool {
	alive, _ := a.Alive(context.Background(), id)
	return alive
}

func (a *alone) Join(ctx context.Context, self Member) iter.Seq2[[]Member, error] {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.id = self.ID
	return func(yield func([]Member, error) bool) {
		if yield([]Member{self}, nil) {
			<-ctx.Done()
		}
	}
}
