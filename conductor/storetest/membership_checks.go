// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"context"
	"fmt"
	"time"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/try"
)

func (c *membershipTester) checkJoin(ctx context.Context) {
	try.Within("an ID of nobody", func() { c.gone(ctx, c.self("nobody").ID) })
	first := c.join(ctx, c.a, "alpha", false)
	c.sees(ctx, first, first)
	second := c.join(ctx, c.b, "beta", false)
	for _, m := range []*member{first, second} {
		c.sees(ctx, m, first, second)
		_, list, _ := m.state()
		for _, other := range []*member{first, second} {
			if got, want := fields(list[other.ID]), fields(other.Member); got != want {
				try.Failf("want the member %s, got %s", want, got)
			}
		}
	}
	c.holds(ctx, c.a, first)
	c.holds(ctx, c.b, second)
	c.alive(ctx, first.ID, true)
	c.alive(ctx, second.ID, true)
}

func (c *membershipTester) checkLeave(ctx context.Context) {
	stays := c.join(ctx, c.b, "beta", false)
	goes := c.join(ctx, c.a, "alpha", false)
	c.sees(ctx, stays, stays, goes)
	goes.leave()
	try.Within("with its context", func() {
		try.OK(goes.end(ctx))
		c.left(ctx, stays, goes.ID)
	})
	again := c.self("alpha")
	yields := false
	each(c.a.Join(ctx, again), func([]conductor.Member) bool { yields = true; return false })
	if !yields {
		try.Failf("join yields nothing")
	}
	c.left(ctx, stays, again.ID)
}

// left checks that a member whose Join has ended is gone, and that another one sees it leave.
func (c *membershipTester) left(ctx context.Context, stays *member, id string) {
	if c.a.Holds(id) {
		try.Failf("holds is true for a member that has left")
	}
	c.sees(ctx, stays, stays)
	c.gone(ctx, id)
}

func (c *membershipTester) checkEnded(ctx context.Context) {
	ended, cancel := context.WithCancel(ctx)
	cancel()
	late := c.self("late")
	try.Within("a context that has ended before", func() {
		each(c.a.Join(ended, late), func([]conductor.Member) bool { return true })
	})
	_, _ = c.a.Alive(ended, late.ID)
	c.gone(ctx, late.ID)
}

func (c *membershipTester) checkName(ctx context.Context) {
	first := c.join(ctx, c.a, "alpha", false)
	c.sees(ctx, first, first)
	for _, p := range []Process{c.b, c.a} {
		second := c.join(ctx, p, "alpha", false)
		second.mayFail = true
		try.OKf(wantError(conductor.ErrNameTaken, second.end(ctx)), "a second member with the name")
		if joined, _, _ := second.state(); joined {
			try.Failf("a second member with the name has joined")
		}
	}
	try.Within("the first member", func() {
		c.sees(ctx, first, first)
		c.alive(ctx, first.ID, true)
	})
	first.leave()
	try.OK(first.end(ctx))
	next := c.join(ctx, c.b, "alpha", false)
	c.sees(ctx, next, next)
}

func (c *membershipTester) checkNameRace(ctx context.Context) {
	const rivals = 8
	var all []*member
	for i := range rivals {
		m := c.join(ctx, []Process{c.a, c.b}[i%2], "alpha", false)
		m.mayFail = true
		all = append(all, m)
	}
	c.await(ctx, "all but one are refused", func() bool {
		joined, refused := 0, 0
		for _, m := range all {
			is, _, err := m.state()
			switch {
			case is:
				try.OK(err)
				joined++
			case m.ended():
				refused++
				try.OK(wantError(conductor.ErrNameTaken, err))
			}
		}
		if joined > 1 || refused == rivals {
			try.Failf("%d of %d have joined", joined, rivals)
		}
		return joined+refused == rivals
	})
}

func (c *membershipTester) checkRenewal(ctx context.Context) {
	slow, other := c.join(ctx, c.a, "alpha", true), c.join(ctx, c.b, "beta", false)
	c.sees(ctx, other, slow, other)
	for begin := time.Now(); time.Since(begin) < 2*c.lease; time.Sleep(c.lease / 20) {
		try.Within(fmt.Sprintf("%v after a member has joined", time.Since(begin)), func() {
			c.alive(ctx, slow.ID, true)
			c.alive(ctx, other.ID, true)
			c.sees(ctx, other, slow, other)
		})
	}
	slow.open()
	c.sees(ctx, slow, slow, other)
	c.holds(ctx, c.a, slow)
	c.holds(ctx, c.b, other)
}

func (c *membershipTester) checkCut(ctx context.Context) { c.lose(ctx, false) }

func (c *membershipTester) checkCutSlow(ctx context.Context) { c.lose(ctx, true) }

// lose cuts a member off and checks its loss. If slow is true, the caller of its Join learns of the loss only after the
// others.
func (c *membershipTester) lose(ctx context.Context, slow bool) {
	stays, goes := c.join(ctx, c.b, "beta", false), c.join(ctx, c.a, "alpha", slow)
	goes.mayFail = true
	c.sees(ctx, stays, stays, goes)
	c.holds(ctx, c.a, goes)
	c.a.Cut(true)
	c.await(ctx, "a member that is cut off leaves", func() bool {
		alive, err := c.b.Alive(ctx, goes.ID)
		try.OKf(err, "alive")
		if !alive && c.a.Holds(goes.ID) {
			try.Failf("alive is false, and holds of the member is still true")
		}
		_, list, err := stays.state()
		left := len(list) == 1
		if left && c.a.Holds(goes.ID) {
			try.Failf("the others have seen a member leave, and its Holds is still true")
		}
		try.OK(err)
		return left && !alive
	})
	goes.open()
	if goes.end(ctx) == nil {
		try.Failf("join has ended without an error although the membership is lost")
	}
	c.connect(ctx)
	c.gone(ctx, goes.ID)
	again := c.join(ctx, c.a, "alpha", false)
	try.Within("a member that joins again", func() { c.sees(ctx, again, stays, again) })
	c.gone(ctx, goes.ID)
}

func (c *membershipTester) checkNameOfDead(ctx context.Context) {
	dead := c.join(ctx, c.a, "alpha", false)
	dead.mayFail = true
	c.sees(ctx, dead, dead)
	c.a.Cut(true)
	next := c.join(ctx, c.b, "alpha", false)
	c.await(ctx, "another member gets the name", func() bool {
		joined, _, err := next.state()
		if joined && c.a.Holds(dead.ID) {
			try.Failf("another member has the name, and Holds of the first is still true")
		}
		try.OK(err)
		return joined
	})
	c.sees(ctx, next, next)
	c.connect(ctx)
	c.gone(ctx, dead.ID)
}

func (c *membershipTester) checkJump(ctx context.Context) {
	m := c.join(ctx, c.a, "alpha", false)
	m.mayFail = true
	c.holds(ctx, c.a, m)
	c.a.Cut(true)
	time.Sleep(c.lease / 10) // until a renewal that was in flight has ended
	c.a.Jump(c.lease)
	if c.a.Holds(m.ID) {
		try.Failf("holds is true after a whole lease without a renewal")
	}
}
