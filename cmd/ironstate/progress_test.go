// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/bubble"
	"github.com/ironstate/ironstate/states"
)

func TestTheLineOfTheNodesAtWork(t *testing.T) {
	now := time.Now()
	nodes := map[string]atWork{}
	require.Empty(t, progressLine(nodes, now, 80))
	nodes["1"] = atWork{"rack1-7", states.CleanWait, now.Add(-83*time.Second - time.Millisecond), 1}
	nodes["2"] = atWork{"rack1-8", states.Deploying, now.Add(-time.Second), 1}
	require.Equal(t, "2 at work: rack1-7 clean wait 1m23s, rack1-8 deploying 1s", progressLine(nodes, now, 80))
	require.Equal(t, "2 at wo…", progressLine(nodes, now, 8))
	require.Equal(t, "…", progressLine(nodes, now, 0), "a terminal of no width")
}

// TestTheProgressIsBelowTheLog reports transitions, writes log lines, and compares the bytes that reach the terminal.
func TestTheProgressIsBelowTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		p := &progress{out: &out, width: func() int { return 80 }, nodes: map[string]atWork{}}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { p.run(ctx); close(done) }()
		n := &conductor.Node{UUID: "1be26c0b", Name: "rack1-7"}
		move := func(to states.State) {
			p.observe(conductor.Transition{TransitionRecord: conductor.TransitionRecord{Time: time.Now(), To: to}, Node: n})
		}
		text := func() string {
			synctest.Wait()
			p.mu.Lock()
			defer p.mu.Unlock()
			defer out.Reset()
			return out.String()
		}

		move(states.Deploying)
		_, err := p.Write([]byte("a line\n"))
		require.NoError(t, err)
		require.Equal(t, "a line\n1 at work: rack1-7 deploying 0s", text())
		bubble.Sleep(time.Second)
		require.Equal(t, "\r\x1b[K1 at work: rack1-7 deploying 1s", text())
		move(states.DeployWait)
		bubble.Sleep(time.Second)
		require.Equal(t, "\r\x1b[K1 at work: rack1-7 wait call-back 2s", text())
		move(states.Active)
		bubble.Sleep(time.Second)
		require.Equal(t, "\r\x1b[K", text())
		bubble.Sleep(time.Second)
		require.Empty(t, text())
		n.Name = ""
		move(states.Cleaning)
		bubble.Sleep(time.Second)
		require.Equal(t, "1 at work: 1be26c0b cleaning 1s", text())
		cancel()
		<-done
		require.Equal(t, "\r\x1b[K", text())
	})
}

func TestANodeThatIsDeletedOrWhoseWorkAnotherConductorEndsIsNotAtWork(t *testing.T) {
	node := func(revision int64, state states.State) *conductor.Node {
		return &conductor.Node{UUID: "1be26c0b", Revision: revision, ProvisionState: state}
	}
	for name, test := range map[string]struct {
		change conductor.NodeChange
		atWork bool
	}{
		"deleted":                     {conductor.NodeChange{UUID: "1be26c0b"}, false},
		"ended":                       {conductor.NodeChange{UUID: "1be26c0b", Node: node(6, states.CleanFail)}, false},
		"at the next state":           {conductor.NodeChange{UUID: "1be26c0b", Node: node(6, states.Cleaning)}, true},
		"as it was before":            {conductor.NodeChange{UUID: "1be26c0b", Node: node(4, states.Available)}, true},
		"another node":                {conductor.NodeChange{UUID: "2be26c0b"}, true},
		"all nodes have been yielded": {conductor.NodeChange{}, true},
	} {
		p := &progress{nodes: map[string]atWork{}}
		p.observe(conductor.Transition{TransitionRecord: conductor.TransitionRecord{To: states.CleanWait}, Node: node(5, states.CleanWait)})
		p.follow(slices.Values([]conductor.NodeChange{test.change}))
		require.Equal(t, test.atWork, len(p.nodes) == 1, name)
	}
}

func TestAFileIsNoTerminal(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "log"))
	require.NoError(t, err)
	defer file.Close()
	require.Nil(t, newProgress(file))
	require.Nil(t, newProgress(&strings.Builder{}))
}
