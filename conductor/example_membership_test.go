// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/ironstate/ironstate/conductor"
)

// localMembership is a membership of conductors in one process, where none can die or be cut
// off alone. Package etcd has a membership for several processes.
type localMembership struct {
	mu      sync.Mutex
	members []conductor.Member
	changed chan struct{} // closed when a member joins or leaves
}

func newLocalMembership() *localMembership {
	return &localMembership{changed: make(chan struct{})}
}

// change changes the members and wakes all ranges.
func (l *localMembership) change(f func([]conductor.Member) []conductor.Member) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.members = f(slices.Clone(l.members))
	close(l.changed)
	l.changed = make(chan struct{})
}

func (l *localMembership) look() ([]conductor.Member, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.members, l.changed
}

func (l *localMembership) Holds(id string) bool {
	members, _ := l.look()
	return slices.ContainsFunc(members, func(m conductor.Member) bool { return m.ID == id })
}

func (l *localMembership) Alive(_ context.Context, id string) (bool, error) { return l.Holds(id), nil }

func (l *localMembership) Drain(_ context.Context, id string) error {
	l.change(func(all []conductor.Member) []conductor.Member {
		for i := range all {
			all[i].Draining = all[i].Draining || all[i].ID == id
		}
		return all
	})
	return nil
}

func (l *localMembership) Join(ctx context.Context, self conductor.Member) iter.Seq2[[]conductor.Member, error] {
	return func(yield func([]conductor.Member, error) bool) {
		taken := false
		l.change(func(all []conductor.Member) []conductor.Member {
			if taken = slices.ContainsFunc(all, func(m conductor.Member) bool { return m.Hostname == self.Hostname }); taken {
				return all
			}
			return append(all, self)
		})
		if taken {
			yield(nil, conductor.ErrNameTaken)
			return
		}
		defer l.change(func(all []conductor.Member) []conductor.Member {
			return slices.DeleteFunc(all, func(m conductor.Member) bool { return m.ID == self.ID })
		})
		for {
			members, changed := l.look()
			if !yield(members, nil) {
				return
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return
			}
		}
	}
}

// Two conductors share the nodes of a store. After one has stopped, the other has all nodes.
func ExampleMembership() {
	store, membership := new(conductor.Memory), newLocalMembership()
	hardware := map[string]conductor.Hardware{"fake-hardware": &conductor.Fake{}}
	_, stopAlpha := started(conductor.Config{Store: store, Membership: membership, Name: "alpha", Hardware: hardware})
	defer stopAlpha()
	_, stopBeta := started(conductor.Config{Store: store, Membership: membership, Name: "beta", Hardware: hardware})

	show := func(want int) {
		members, changed := membership.look()
		for len(members) != want {
			<-changed
			members, changed = membership.look()
		}
		for _, m := range members {
			fmt.Println(m.Hostname, m.Drivers)
		}
	}
	show(2)
	stopBeta()
	show(1)
	// Output:
	// alpha [fake-hardware]
	// beta [fake-hardware]
	// alpha [fake-hardware]
}

// A conductor that stops tells the others first, so that they take over its nodes while it ends its work.
func ExampleDrainer() {
	var membership conductor.Drainer = newLocalMembership()
	for members := range membership.(conductor.Membership).Join(context.Background(), conductor.Member{ID: "1", Hostname: "alpha"}) {
		fmt.Println(members[0].Hostname, members[0].Draining)
		if members[0].Draining {
			break
		}
		_ = membership.Drain(context.Background(), "1")
	}
	// Output:
	// alpha false
	// alpha true
}
