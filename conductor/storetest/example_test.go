// SPDX-License-Identifier: Apache-2.0

package storetest_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/storetest"
)

// careless is a store that accepts any revision.
type careless struct{ conductor.Memory }

func (s *careless) Update(ctx context.Context, r conductor.Record) (int64, error) {
	stored, err := s.Get(ctx, r.Kind, r.ID)
	if err != nil {
		return 0, err
	}
	r.Revision = stored.Revision
	return s.Memory.Update(ctx, r)
}

// Check passes a correct store, and reports a store that loses updates.
func ExampleCheck() {
	fmt.Println(storetest.Check(new(conductor.Memory)))
	err := storetest.Check(new(careless))
	promise, _, _ := strings.Cut(err.Error(), ":")
	fmt.Println(promise)
	// Output:
	// <nil>
	// a write needs the current revision
}

// unreachable is a membership whose server is down.
type unreachable struct{}

var errDown = errors.New("the server is down")

func (unreachable) Alive(context.Context, string) (bool, error) { return false, errDown }
func (unreachable) Holds(string) bool                           { return false }
func (unreachable) Join(context.Context, conductor.Member) iter.Seq2[[]conductor.Member, error] {
	return func(yield func([]conductor.Member, error) bool) { yield(nil, errDown) }
}

// CheckMembership reports each promise that a membership breaks.
func ExampleCheckMembership() {
	p := storetest.Process{Membership: unreachable{}}
	promises := strings.Split(storetest.CheckMembership(10*time.Second, p, p).Error(), "\n")
	fmt.Println(promises[0])
	// Output:
	// a member joins, and all members see it: an ID of nobody: after a member has left: alive: the server is down
}
