// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
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
	keeps bool
	lists func() // is called for each list

	mu        sync.Mutex
	published map[string]bool
}

func (p *publisher) publish(node string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.published[node] = true
}

func (p *publisher) Published() ([]string, error) {
	if p.lists != nil {
		p.lists()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Sorted(maps.Keys(p.published)), nil
}

func (p *publisher) KeepsFiles(*conductor.Node) bool { return p.keeps }

func (p *publisher) Withdraw(node string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.published, node)
	return nil
}

// runPublisher starts a conductor whose hardware type has published nothing yet. It ends with the test.
func runPublisher(t *testing.T, name string, store conductor.Store, members conductor.Membership, keeps bool) (
	*conductor.Conductor, *publisher, func(),
) {
	p := &publisher{Fake: &conductor.Fake{}, keeps: keeps, published: map[string]bool{}}
	c, err := conductor.New(conductor.Config{
		Store: store, Membership: members, Name: name, SkipPowerSync: true, Log: slog.New(slog.DiscardHandler),
		CheckInterval: time.Minute, Hardware: map[string]conductor.Hardware{"fake-hardware": p},
	})
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
			_, _, stop := runPublisher(t, "beta"+string(rune('a'+i)), store, members, false)
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
		"hangs": func() { sleep.For(context.Background(), time.Hour) }, "panics": func() { panic("x") },
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
