// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ironstate/ironstate/conductor"
)

func (c *membershipTester) checkJoin(ctx context.Context) error {
	if err := c.gone(ctx, c.self("nobody").ID); err != nil {
		return fmt.Errorf("an ID of nobody: %w", err)
	}
	first := c.join(ctx, c.a, "alpha", false)
	if err := c.sees(ctx, first, first); err != nil {
		return err
	}
	second := c.join(ctx, c.b, "beta", false)
	for _, m := range []*member{first, second} {
		if err := c.sees(ctx, m, first, second); err != nil {
			return err
		}
		_, list, _ := m.state()
		for _, other := range []*member{first, second} {
			if got, want := fields(list[other.ID]), fields(other.Member); got != want {
				return fmt.Errorf("want the member %s, got %s", want, got)
			}
		}
	}
	return errors.Join(c.holds(ctx, c.a, first), c.holds(ctx, c.b, second), c.alive(ctx, first.ID, true), c.alive(ctx, second.ID, true))
}

func (c *membershipTester) checkLeave(ctx context.Context) error {
	stays := c.join(ctx, c.b, "beta", false)
	goes := c.join(ctx, c.a, "alpha", false)
	if err := c.sees(ctx, stays, stays, goes); err != nil {
		return err
	}
	goes.leave()
	if err := c.left(ctx, stays, goes.ID, func() error { return goes.end(ctx) }); err != nil {
		return fmt.Errorf("with its context: %w", err)
	}
	again := c.self("alpha")
	return c.left(ctx, stays, again.ID, func() error {
		for _, err := range c.a.Join(ctx, again) {
			return err
		}
		return errors.New("join yields nothing")
	})
}

// left checks that a member is gone once end has returned, and that another one sees it leave.
func (c *membershipTester) left(ctx context.Context, stays *member, id string, end func() error) error {
	if err := end(); err != nil {
		return err
	}
	if c.a.Holds(id) {
		return errors.New("holds is true for a member that has left")
	}
	if err := c.sees(ctx, stays, stays); err != nil {
		return err
	}
	return c.gone(ctx, id)
}

func (c *membershipTester) checkEnded(ctx context.Context) error {
	ended, cancel := context.WithCancel(ctx)
	cancel()
	late := c.self("late")
	for _, err := range c.a.Join(ended, late) {
		if err != nil {
			return fmt.Errorf("a context that has ended before: %w", err)
		}
	}
	_, _ = c.a.Alive(ended, late.ID)
	return c.gone(ctx, late.ID)
}

func (c *membershipTester) checkName(ctx context.Context) error {
	first := c.join(ctx, c.a, "alpha", false)
	if err := c.sees(ctx, first, first); err != nil {
		return err
	}
	for _, p := range []Process{c.b, c.a} {
		second := c.join(ctx, p, "alpha", false)
		second.mayFail = true
		if err := wantError(conductor.ErrNameTaken, second.end(ctx)); err != nil {
			return fmt.Errorf("a second member with the name: %w", err)
		}
		if joined, _, _ := second.state(); joined {
			return errors.New("a second member with the name has joined")
		}
	}
	if err := errors.Join(c.sees(ctx, first, first), c.alive(ctx, first.ID, true)); err != nil {
		return fmt.Errorf("the first member: %w", err)
	}
	first.leave()
	if err := first.end(ctx); err != nil {
		return err
	}
	next := c.join(ctx, c.b, "alpha", false)
	return c.sees(ctx, next, next)
}

func (c *membershipTester) checkNameRace(ctx context.Context) error {
	const rivals = 8
	var all []*member
	for i := range rivals {
		m := c.join(ctx, []Process{c.a, c.b}[i%2], "alpha", false)
		m.mayFail = true
		all = append(all, m)
	}
	return c.await(ctx, "all but one are refused", func() (bool, error) {
		joined, refused := 0, 0
		for _, m := range all {
			is, _, err := m.state()
			switch {
			case is && err != nil:
				return false, err
			case is:
				joined++
			case m.ended():
				refused++
				if err := wantError(conductor.ErrNameTaken, err); err != nil {
					return false, err
				}
			}
		}
		if joined > 1 || refused == rivals {
			return false, fmt.Errorf("%d of %d have joined", joined, rivals)
		}
		return joined+refused == rivals, nil
	})
}

func (c *membershipTester) checkRenewal(ctx context.Context) error {
	slow, other := c.join(ctx, c.a, "alpha", true), c.join(ctx, c.b, "beta", false)
	if err := c.sees(ctx, other, slow, other); err != nil {
		return err
	}
	for begin := time.Now(); time.Since(begin) < 2*c.lease; time.Sleep(c.lease / 20) {
		if err := errors.Join(c.alive(ctx, slow.ID, true), c.alive(ctx, other.ID, true), c.sees(ctx, other, slow, other)); err != nil {
			return fmt.Errorf("%v after a member has joined: %w", time.Since(begin), err)
		}
	}
	slow.open()
	return errors.Join(c.sees(ctx, slow, slow, other), c.holds(ctx, c.a, slow), c.holds(ctx, c.b, other))
}

func (c *membershipTester) checkCut(ctx context.Context) error { return c.lose(ctx, false) }

func (c *membershipTester) checkCutSlow(ctx context.Context) error { return c.lose(ctx, true) }

// lose cuts a member off and checks its loss. If slow is true, the caller of its Join learns of the loss only after the
// others.
func (c *membershipTester) lose(ctx context.Context, slow bool) error {
	stays, goes := c.join(ctx, c.b, "beta", false), c.join(ctx, c.a, "alpha", slow)
	goes.mayFail = true
	if err := errors.Join(c.sees(ctx, stays, stays, goes), c.holds(ctx, c.a, goes)); err != nil {
		return err
	}
	c.a.Cut(true)
	err := c.await(ctx, "a member that is cut off leaves", func() (bool, error) {
		alive, err := c.b.Alive(ctx, goes.ID)
		if err != nil {
			return false, fmt.Errorf("alive: %w", err)
		}
		if !alive && c.a.Holds(goes.ID) {
			return false, errors.New("alive is false, and holds of the member is still true")
		}
		_, list, err := stays.state()
		left := len(list) == 1
		if left && c.a.Holds(goes.ID) {
			return false, errors.New("the others have seen a member leave, and its Holds is still true")
		}
		return left && !alive, err
	})
	if err != nil {
		return err
	}
	goes.open()
	if goes.end(ctx) == nil {
		return errors.New("join has ended without an error although the membership is lost")
	}
	if err := errors.Join(c.connect(ctx), c.gone(ctx, goes.ID)); err != nil {
		return err
	}
	again := c.join(ctx, c.a, "alpha", false)
	if err := c.sees(ctx, again, stays, again); err != nil {
		return fmt.Errorf("a member that joins again: %w", err)
	}
	return c.gone(ctx, goes.ID)
}

func (c *membershipTester) checkNameOfDead(ctx context.Context) error {
	dead := c.join(ctx, c.a, "alpha", false)
	dead.mayFail = true
	if err := c.sees(ctx, dead, dead); err != nil {
		return err
	}
	c.a.Cut(true)
	next := c.join(ctx, c.b, "alpha", false)
	err := c.await(ctx, "another member gets the name", func() (bool, error) {
		joined, _, err := next.state()
		if joined && c.a.Holds(dead.ID) {
			err = errors.New("another member has the name, and Holds of the first is still true")
		}
		return joined, err
	})
	if err != nil {
		return err
	}
	return errors.Join(c.sees(ctx, next, next), c.connect(ctx), c.gone(ctx, dead.ID))
}

func (c *membershipTester) checkJump(ctx context.Context) error {
	m := c.join(ctx, c.a, "alpha", false)
	m.mayFail = true
	if err := c.holds(ctx, c.a, m); err != nil {
		return err
	}
	c.a.Cut(true)
	time.Sleep(c.lease / 10) // until a renewal that was in flight has ended
	c.a.Jump(c.lease)
	if c.a.Holds(m.ID) {
		return errors.New("holds is true after a whole lease without a renewal")
	}
	return nil
}
