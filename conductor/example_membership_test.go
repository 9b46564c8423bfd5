package conductor_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/ironstate/ironstate/conductor"
)

// A room has the conductors of one process: nobody in it dies or is cut off. Package etcd
// has the membership of conductors that may be.
type room struct {
	mu      sync.Mutex
	members []conductor.Member
	changed chan struct{} // closed when somebody comes or goes
}

func newRoom() *room { return &room{changed: make(chan struct{})} }

// change changes who is there, and tells those who look.
func (r *room) change(f func([]conductor.Member) []conductor.Member) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.members = f(slices.Clone(r.members))
	close(r.changed)
	r.changed = make(chan struct{})
}

func (r *room) look() ([]conductor.Member, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.members, r.changed
}

func (r *room) Holds(id string) bool {
	members, _ := r.look()
	return slices.ContainsFunc(members, func(m conductor.Member) bool { return m.ID == id })
}

func (r *room) Alive(_ context.Context, id string) (bool, error) { return r.Holds(id), nil }

func (r *room) Join(ctx context.Context, self conductor.Member) iter.Seq2[[]conductor.Member, error] {
	return func(yield func([]conductor.Member, error) bool) {
		r.change(func(all []conductor.Member) []conductor.Member { return append(all, self) })
		defer r.change(func(all []conductor.Member) []conductor.Member {
			return slices.DeleteFunc(all, func(m conductor.Member) bool { return m.ID == self.ID })
		})
		for {
			members, changed := r.look()
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

// Two conductors share the nodes of a store, and then one of them has them all.
func ExampleMembership() {
	store, together := new(conductor.Memory), newRoom()
	hardware := map[string]conductor.Hardware{"fake-hardware": &conductor.Fake{}}
	_, stopAlpha := started(conductor.Config{Store: store, Membership: together, Name: "alpha", Hardware: hardware})
	defer stopAlpha()
	_, stopBeta := started(conductor.Config{Store: store, Membership: together, Name: "beta", Hardware: hardware})

	show := func(want int) {
		members, changed := together.look()
		for len(members) != want {
			<-changed
			members, changed = together.look()
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
