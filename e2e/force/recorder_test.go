// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/e2e/force/history"
	"github.com/ironstate/ironstate/internal/bubble"
	"github.com/ironstate/ironstate/states"
)

// listed is a log of some writes.
type listed []write

func (l listed) follow(_ context.Context, take func([]write) error) error { return take(l) }
func (l listed) last(context.Context) (int64, error)                      { return l[len(l)-1].revision, nil }
func (l listed) Close() error                                             { return nil }

// The recorder needs no etcd: any log of a store will do.
func TestTheRecorderReadsTheLogOfAnyStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node := func(state, claim string) []byte {
			return []byte(`{"version":1,"uuid":"n","provision_state":"` + state + `","claim":"` + claim + `","reservation":"alpha"}`)
		}
		r := newRecorder(listed{
			{kind: members, id: "a", revision: 1, value: []byte(`{"id":"a","hostname":"alpha"}`)},
			{kind: conductor.KindNode, id: "n", revision: 2, value: node("verifying", "a")},
			{kind: members, id: "a", revision: 3, value: []byte(`{"id":"a","hostname":"alpha"}`)},
			{revision: 4},
			{kind: members, id: "a", revision: 5},
			{kind: conductor.KindNode, id: "n", revision: 6, value: node("enroll", "")},
		}, states.Latest().Table())
		require.False(t, r.caughtUp(t.Context()))
		require.NoError(t, r.run(t.Context()))
		require.True(t, r.caughtUp(t.Context()))
		require.Equal(t, map[string]history.Membership{"a": {Conductor: "alpha", Begun: 1, Ended: 5}}, r.memberships)
		require.Len(t, r.nodes["n"], 2)
		require.Equal(t, states.Verifying, r.nodes["n"][0].State)
		require.Equal(t, "a", r.nodes["n"][0].Claim)
		require.EqualValues(t, 6, r.nodes["n"][1].Revision)
		require.Equal(t, time.Now(), r.nodes["n"][1].Stored)
		require.Len(t, r.nodes["n"][1].Broken, 1)
		require.Contains(t, r.nodes["n"][1].Broken[0], "the new transitions do not lead to the state")
		require.Equal(t, "it is reserved by alpha", r.nodes["n"][0].Waits)
	})
}

func TestNodesAreStuckWhenNothingIsStoredForATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stored := write{kind: conductor.KindNode, id: "n", revision: 1, value: []byte(`{"version":1,"uuid":"n","provision_state":"enroll"}`)}
		r := newRecorder(listed{stored}, states.Latest().Table())
		changing, cancel := r.whileChanging(t.Context(), stuck)
		defer cancel()
		for range 10 {
			bubble.Sleep(stuck - 2*time.Second)
			require.NoError(t, changing.Err())
			require.NoError(t, r.run(t.Context()))
		}
		bubble.Sleep(stuck - 2*time.Second)
		require.NoError(t, changing.Err())
		bubble.Sleep(4 * time.Second)
		require.Error(t, changing.Err())
	})
}

func TestANodeThatIsDeletedIsAnError(t *testing.T) {
	r := newRecorder(listed{{kind: conductor.KindNode, id: "n", revision: 1}}, states.Latest().Table())
	require.ErrorContains(t, r.run(t.Context()), "deleted without a request")
}

func TestAControlCharacterInAnyRecordIsAFinding(t *testing.T) {
	node := func(revision int64, text string) write {
		return write{kind: conductor.KindNode, id: "n", revision: revision,
			value: []byte(`{"version":1,"uuid":"n","provision_state":"enroll","last_error":"` + text + `"}`)}
	}
	r := newRecorder(listed{
		node(1, "clean"), node(2, `ESC \u001b[2J`), node(3, `ESC again \u001b[2J`),
		{kind: conductor.KindInventory, id: "i", revision: 4, value: []byte(`{"inventory":{"cpu":{"architecture":"x\u001b"}}}`)},
		{revision: 5, value: []byte("\x1b is no record")},
		{kind: conductor.KindPort, id: "p", revision: 6, value: []byte(`{"uuid":"p","node_uuid":"n","address":"52:54:00:00:00:01"}`)},
		{kind: conductor.KindPort, id: "p", revision: 7},
	}, states.Latest().Table())
	require.NoError(t, r.run(t.Context()))
	require.Len(t, r.findings, 2)
	require.Equal(t, "texts: at revision 2 record n of the nodes has a control character at .last_error", r.findings[0].String())
	require.Contains(t, r.findings[1].Text, "record i of the inventory has a control character at .inventory.cpu.architecture")
	require.Equal(t, map[string]string{"52:54:00:00:00:01": "n"}, r.ports)
}

func TestTheKeysOfEtcdAreWrites(t *testing.T) {
	for key, want := range map[string]write{
		"/ironstate/v1/records/nodes/n":      {kind: conductor.KindNode, id: "n", revision: 7, value: []byte("second")},
		"/ironstate/v1/records/ports/p":      {kind: conductor.KindPort, id: "p", revision: 7, value: []byte("second")},
		"/ironstate/v1/members/a":            {kind: members, id: "a", revision: 7, value: []byte("first\nsecond")},
		"/ironstate/v1/keys/nodes/name=node": {revision: 7, value: []byte("first\nsecond")},
	} {
		kv := &mvccpb.KeyValue{Key: []byte(key), Value: []byte("first\nsecond"), ModRevision: 7}
		require.Equal(t, want, decodeWrite(&clientv3.Event{Type: clientv3.EventTypePut, Kv: kv}), key)
		want.value = nil
		require.Equal(t, want, decodeWrite(&clientv3.Event{Type: clientv3.EventTypeDelete, Kv: kv}), key)
	}
}
