// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/bubble"
	"github.com/ironstate/ironstate/internal/sleep"
	"github.com/ironstate/ironstate/states"
)

// publisher is a hardware type that has published files for nodes.
type publisher struct {
	*conductor.Fake
	keeps     bool
	asked     func() // is called for each question whether a node keeps its files
	lists     func() // is called for each list, before it is returned
	withdraws func() // is called for each withdrawal, before its effect

	mu        sync.Mutex
	published map[string]bool
}

func (p *publisher) publish(node string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.published[node] = true
}

func (p *publisher) Published() ([]string, error) {
	p.mu.Lock()
	published := slices.Sorted(maps.Keys(p.published))
	p.mu.Unlock()
	if p.lists != nil {
		p.lists()
	}
	return published, nil
}

func (p *publisher) KeepsFiles(*conductor.Node) bool {
	if p.asked != nil {
		p.asked()
	}
	return p.keeps
}

func (p *publisher) Withdraw(node string) error {
	if p.withdraws != nil {
		p.withdraws()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.published, node)
	return nil
}

// runPublisher starts a conductor whose hardware type has published nothing yet. It ends with the test.
func runPublisher(t *testing.T, name string, store conductor.Store, members conductor.Membership, keeps bool,
	changes ...func(*conductor.Config),
) (*conductor.Conductor, *publisher, func()) {
	p := &publisher{Fake: &conductor.Fake{}, keeps: keeps, published: map[string]bool{}}
	config := conductor.Config{
		Store: store, Membership: members, Name: name, SkipPowerSync: true, Log: slog.New(slog.DiscardHandler),
		CheckInterval: time.Minute, Hardware: map[string]conductor.Hardware{"fake-hardware": p},
	}
	for _, change := range changes {
		change(&config)
	}
	c, err := conductor.New(config)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- c.Run(ctx) }()
	synctest.Wait()
	return c, p, func() { cancel(); <-done }
}

func TestPublishedFilesAreWithdrawnWhenNoMachineNeedsThem(t *testing.T) {
	for name, test := range map[string]struct {
		node  conductor.Node
		keeps bool
		stay  bool
	}{
		"the work has ended":               {node: conductor.Node{ProvisionState: states.Available}},
		"the work has failed":              {node: conductor.Node{ProvisionState: states.DeployFail}},
		"the instance boots its disk":      {node: conductor.Node{ProvisionState: states.Active}},
		"the instance is a ramdisk":        {node: conductor.Node{ProvisionState: states.Active}, keeps: true, stay: true},
		"the node waits for its agent":     {node: conductor.Node{ProvisionState: states.CleanWait}, stay: true},
		"the node is held":                 {node: conductor.Node{ProvisionState: states.DeployHold}, stay: true},
		"the hardware type is not enabled": {node: conductor.Node{ProvisionState: states.Available, Driver: "gone"}, stay: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := new(conductor.Memory)
				test.node.UUID, test.node.CreatedAt = "6f8a2d33-0d54-4a4e-9c1b-6a58f0a4b7d1", time.Now()
				if test.node.Driver == "" {
					test.node.Driver = "fake-hardware"
				}
				r, err := conductor.EncodeNode(&test.node)
				require.NoError(t, err)
				_, err = store.Create(t.Context(), r)
				require.NoError(t, err)
				_, p, stop := runPublisher(t, "alpha", store, nil, test.keeps)
				defer stop()
				p.publish(test.node.UUID)
				bubble.Sleep(90 * time.Second)
				got, _ := p.Published()
				require.Equal(t, test.stay, len(got) == 1)
			})
		})
	}
}

func TestTheFilesOfADeletedNodeAreWithdrawn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, p, stop := runPublisher(t, "alpha", new(conductor.Memory), nil, true)
		defer stop()
		n, err := c.CreateNode(t.Context(), &conductor.Node{Driver: "fake-hardware", ProvisionState: states.Available})
		require.NoError(t, err)
		p.publish(n.UUID)
		bubble.Sleep(90 * time.Second)
		got, _ := p.Published()
		require.Equal(t, []string{n.UUID}, got)
		require.NoError(t, c.DeleteNode(t.Context(), n.UUID))
		bubble.Sleep(time.Minute)
		got, _ = p.Published()
		require.Empty(t, got)
	})
}

func TestAConductorWithdrawsItsFilesWhenAnotherOneEndsTheWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, members := new(conductor.Memory), newLocalMembership()
		alpha, p, stopAlpha := runPublisher(t, "alpha", store, members, false)
		defer stopAlpha()
		n, err := alpha.CreateNode(t.Context(), &conductor.Node{Driver: "fake-hardware", ProvisionState: states.CleanWait})
		require.NoError(t, err)
		p.publish(n.UUID)
		var stops []func()
		owner := func() string {
			m, _ := alpha.Owner(n)
			return m.Hostname
		}
		for i := 0; owner() == "alpha"; i++ { // until one of them takes the node over
			_, _, stop := runPublisher(t, fmt.Sprint("beta", i), store, members, false)
			stops = append(stops, stop)
		}
		bubble.Sleep(5 * time.Minute)
		got, _ := p.Published()
		require.Equal(t, []string{n.UUID}, got, "the machine boots from them")
		require.NoError(t, alpha.Provision(t.Context(), n.UUID, conductor.ProvisionRequest{
			Target: "abort", Version: states.Latest().MaxAPIVersion(),
		}))
		bubble.Sleep(2 * time.Minute)
		n, err = alpha.Node(t.Context(), n.UUID)
		require.NoError(t, err)
		require.Equal(t, states.CleanFail, n.ProvisionState)
		got, _ = p.Published()
		require.Empty(t, got)
		for _, stop := range stops {
			stop()
		}
	})
}

func TestAHardwareTypeThatCannotListItsFilesHoldsUpNoOtherCheck(t *testing.T) {
	for name, trouble := range map[string]func(){
		"hangs": forAnHour, "panics": func() { panic("x") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, p, stop := runPublisher(t, "alpha", new(conductor.Memory), nil, false)
				var lists atomic.Int32
				p.lists = func() { lists.Add(1); trouble() }
				defer bubble.Sleep(time.Hour) // until the abandoned call has returned
				defer stop()
				at := time.Now()
				n, err := c.CreateNode(t.Context(), &conductor.Node{
					Driver: "fake-hardware", ProvisionState: states.CleanWait, ProvisionUpdatedAt: &at,
				})
				require.NoError(t, err)
				bubble.Sleep(50 * time.Minute) // its agent does not call
				n, err = c.Node(t.Context(), n.UUID)
				require.NoError(t, err)
				require.Equal(t, states.CleanFail, n.ProvisionState)
				require.Equal(t, name == "hangs", lists.Load() == 1)
			})
		})
	}
}

// forAnHour does not end with any context.
func forAnHour() { sleep.For(context.Background(), time.Hour) }

func TestAWithdrawalOfFilesThatHangsIsAbandonedAndItsNodeIsFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, p, stop := runPublisher(t, "alpha", new(conductor.Memory), nil, false, func(c *conductor.Config) { c.Workers = 1 })
		defer bubble.Sleep(time.Hour) // until the abandoned call has returned
		defer stop()
		n, err := c.CreateNode(t.Context(), &conductor.Node{Driver: "fake-hardware", ProvisionState: states.Available})
		require.NoError(t, err)
		other, err := c.CreateNode(t.Context(), &conductor.Node{Driver: "fake-hardware", ProvisionState: states.Available})
		require.NoError(t, err)
		var withdrawals atomic.Int32
		p.withdraws = func() { withdrawals.Add(1); forAnHour() }
		p.publish(n.UUID)
		bubble.Sleep(90 * time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		require.ErrorIs(t, c.SetPower(ctx, n.UUID, states.PowerOn, 0), conductor.Locked, "no work begins on the node meanwhile")
		require.NoError(t, c.SetPower(t.Context(), other.UUID, states.PowerOn, 0), "the only worker is free for another node")
		bubble.Sleep(50 * time.Minute)
		require.NoError(t, c.SetPower(t.Context(), n.UUID, states.PowerOn, 0))
		require.EqualValues(t, 1, withdrawals.Load(), "the hardware type is not asked again before it has returned")
		bubble.Sleep(15 * time.Minute)
		p.publish(n.UUID)
		bubble.Sleep(2 * time.Minute)
		require.EqualValues(t, 2, withdrawals.Load())
	})
}

func TestADecisionToWithdrawThatIsTooLateHasNoEffect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, p, stop := runPublisher(t, "alpha", new(conductor.Memory), nil, false)
		defer stop()
		n, err := c.CreateNode(t.Context(), &conductor.Node{Driver: "fake-hardware", ProvisionState: states.Available})
		require.NoError(t, err)
		var questions atomic.Int32
		p.asked = func() {
			if questions.Add(1) == 2 { // with the node's worker
				sleep.For(context.Background(), 630*time.Second)
			}
		}
		p.publish(n.UUID)
		files := func() []string {
			p.mu.Lock()
			defer p.mu.Unlock()
			return slices.Collect(maps.Keys(p.published))
		}
		bubble.Sleep(705 * time.Second)
		require.EqualValues(t, 2, questions.Load())
		require.Equal(t, []string{n.UUID}, files(), "work may have begun and published them")
		bubble.Sleep(time.Minute)
		require.Empty(t, files(), "the next check decides anew")
	})
}

func TestAConductorStopsWhilePublishedFilesAreListedOrWithdrawn(t *testing.T) {
	for name, hangs := range map[string]func(*publisher){
		"listed": func(p *publisher) { p.lists = forAnHour }, "withdrawn": func(p *publisher) { p.withdraws = forAnHour },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, p, stop := runPublisher(t, "alpha", new(conductor.Memory), nil, false)
				defer bubble.Sleep(time.Hour) // until the abandoned call has returned
				hangs(p)
				p.publish("6f8a2d33-0d54-4a4e-9c1b-6a58f0a4b7d1") // of a deleted node
				bubble.Sleep(90 * time.Second)
				at := time.Now()
				stop()
				require.Less(t, time.Since(at), 10*time.Second)
			})
		})
	}
}

func TestPublishedFilesAreListedWithoutAWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, p, stop := runPublisher(t, "alpha", new(conductor.Memory), nil, false, func(c *conductor.Config) { c.Workers = 1 })
		defer stop()
		n, err := c.CreateNode(t.Context(), &conductor.Node{Driver: "fake-hardware", ProvisionState: states.Available})
		require.NoError(t, err)
		p.lists = func() { sleep.For(context.Background(), 20*time.Second) }
		p.publish(n.UUID)
		bubble.Sleep(70 * time.Second)
		require.Zero(t, c.Stats().BusyWorkers)
		require.NoError(t, c.SetPower(t.Context(), n.UUID, states.PowerOn, 0))
		bubble.Sleep(20 * time.Second)
		p.mu.Lock()
		defer p.mu.Unlock()
		require.Empty(t, p.published, "the only worker was free for it")
	})
}

func TestFilesThatHardwareTypesShareAreWithdrawnOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, p, stop := runPublisher(t, "alpha", new(conductor.Memory), nil, false, func(c *conductor.Config) {
			p := c.Hardware["fake-hardware"]
			c.Hardware["ipmi"], c.Hardware["redfish"] = p, p
		})
		defer stop()
		var withdrawals atomic.Int32
		p.lists = func() { sleep.For(context.Background(), time.Second) }
		p.withdraws = func() { withdrawals.Add(1) }
		p.publish("6f8a2d33-0d54-4a4e-9c1b-6a58f0a4b7d1") // of a deleted node
		bubble.Sleep(90 * time.Second)
		require.EqualValues(t, 1, withdrawals.Load())
	})
}
