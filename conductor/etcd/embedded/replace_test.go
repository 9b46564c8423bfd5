// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
)

// members is the list of a cluster's members. It records what is done with it.
type members struct {
	clientv3.Cluster
	listed []*etcdserverpb.Member
	fails  map[string]error // by the request
	busy   int              // requests that are refused since too few servers are connected
	done   []string
}

func (m *members) do(request string) error {
	if m.busy > 0 {
		m.busy--
		return rpctypes.ErrUnhealthy
	}
	m.done = append(m.done, request)
	return m.fails[request]
}

func (m *members) MemberList(context.Context, ...clientv3.OpOption) (*clientv3.MemberListResponse, error) {
	return &clientv3.MemberListResponse{Members: m.listed}, m.fails["list"]
}

func (m *members) MemberRemove(_ context.Context, id uint64) (*clientv3.MemberRemoveResponse, error) {
	return nil, m.do(fmt.Sprint("remove ", id))
}

func (m *members) MemberAdd(_ context.Context, peers []string) (*clientv3.MemberAddResponse, error) {
	return nil, m.do(fmt.Sprint("add ", peers))
}

// answering returns the URL of a server that answers its peers. SELF in the answer is that URL.
func answering(t *testing.T, answer string) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/members" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Header().Set("X-Etcd-Cluster-ID", "1")
		_, _ = w.Write([]byte(strings.ReplaceAll(answer, "SELF", "http://"+r.Host)))
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// hangingUp returns the URL of a server that accepts connections and answers nothing.
func hangingUp(t *testing.T) string {
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	t.Cleanup(s.Close)
	return s.URL
}

// The servers answer in a bubble, so that no request has used up its time on a busy machine.
func TestTheReplacementOfAServer(t *testing.T) { synctest.Test(t, replaceServers) }

func replaceServers(t *testing.T) {
	const (
		down    = "http://127.0.0.1:1" // nothing listens there
		accepts = "accepts connections at"
	)
	refused := errors.New("refused")
	member := func(id uint64, name, peer string) *etcdserverpb.Member {
		return &etcdserverpb.Member{ID: id, Name: name, PeerURLs: []string{peer}}
	}
	add := "add [" + down + "]"
	for name, test := range map[string]struct {
		peer   string
		listed []*etcdserverpb.Member
		fails  map[string]error
		done   []string
		text   string
	}{
		"it is a member": {down, []*etcdserverpb.Member{member(1, "a", "http://a"), member(2, "b", down)},
			nil, []string{"remove 2", add}, ""},
		"it was removed": {down, []*etcdserverpb.Member{member(1, "a", "http://a")}, nil, []string{add}, ""},
		"it was added":   {down, []*etcdserverpb.Member{member(1, "a", "http://a"), member(2, "", down)}, nil, nil, ""},
		"it answers":     {answering(t, ""), []*etcdserverpb.Member{member(2, "b", "")}, nil, nil, accepts},
		"it hangs up":    {hangingUp(t), []*etcdserverpb.Member{member(2, "b", "")}, nil, nil, accepts},
		"its certificate is not valid": {
			strings.Replace(answering(t, ""), "http:", "https:", 1), []*etcdserverpb.Member{member(2, "b", "")}, nil, nil, accepts,
		},
		"the list fails": {down, nil, map[string]error{"list": refused}, nil, "refused"},
		"the removal fails": {down, []*etcdserverpb.Member{member(2, "b", down)},
			map[string]error{"remove 2": refused}, []string{"remove 2"}, "remove the server b: refused"},
		"the addition fails":             {down, nil, map[string]error{add: refused}, []string{add}, "add the server b again: refused"},
		"its URL is none":                {"http://[", []*etcdserverpb.Member{member(2, "b", "http://[")}, nil, nil, "missing ']'"},
		"its certificate cannot be read": {down, []*etcdserverpb.Member{member(2, "b", down)}, nil, nil, "no such file"},
	} {
		c := Cluster{Name: "a", Peers: map[string]string{"a": "http://a", "b": test.peer}, Replace: "b"}
		if test.text == accepts {
			test.listed[0].PeerURLs = []string{test.peer}
		}
		if test.text == "no such file" {
			c.Cert, c.Key, c.CA = "none.pem", "none.pem", "none.pem"
		}
		m := &members{listed: test.listed, fails: test.fails}
		err := replace(t.Context(), m, c)
		require.Equal(t, test.done, m.done, name)
		if test.text == "" {
			require.NoError(t, err, name)
		} else {
			require.ErrorContains(t, err, test.text, name)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	c := Cluster{Peers: map[string]string{"b": down}, Replace: "b"}
	require.ErrorIs(t, replace(ended, &members{listed: []*etcdserverpb.Member{member(2, "b", down)}}, c), context.Canceled)
}

func TestAReplacementWaitsUntilEnoughServersAreConnected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, begun := Cluster{Peers: map[string]string{"b": "http://b"}, Replace: "b"}, time.Now()
		m := &members{busy: 10}
		require.NoError(t, replace(t.Context(), m, c))
		require.Equal(t, []string{"add [http://b]"}, m.done)
		require.Equal(t, 5*time.Second, time.Since(begun))

		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.ErrorIs(t, replace(ctx, &members{busy: 1000}, c), rpctypes.ErrUnhealthy)
		require.Equal(t, 65*time.Second, time.Since(begun))
	})
}

func TestAServerJoinsAsTheOthersKnowIt(t *testing.T) { synctest.Test(t, joinAsKnown) }

func joinAsKnown(t *testing.T) {
	const self = "http://127.0.0.1:1"
	member := func(name string) string {
		return `[{"id": 1, "peerURLs": ["http://127.0.0.1:2"], "name": "b"}, {"id": 2, "peerURLs": ["` + self + `"], "name": "` + name + `"}]`
	}
	for name, test := range map[string]struct{ other, want string }{
		"nobody answers": {"http://127.0.0.1:1", embed.ClusterStateFlagNew},
		"it was added":   {answering(t, member("")), embed.ClusterStateFlagExisting},
		"it has started": {answering(t, member("a")), embed.ClusterStateFlagNew},
		"it is unknown":  {answering(t, `[{"id": 1, "peerURLs": ["http://127.0.0.1:2"], "name": ""}]`), embed.ClusterStateFlagNew},
	} {
		state, err := Cluster{Name: "a", Peers: map[string]string{"a": self, "b": test.other}}.clusterState(zap.NewNop())
		require.NoError(t, err, name)
		require.Equal(t, test.want, state, name)
	}
	own := answering(t, `[{"id": 1, "peerURLs": ["SELF"], "name": ""}]`)
	state, err := Cluster{Name: "a", Peers: map[string]string{"a": own}}.clusterState(zap.NewNop())
	require.NoError(t, err)
	require.Equal(t, embed.ClusterStateFlagNew, state, "it does not ask itself")
	_, err = Cluster{Name: "a", Cert: "none.pem", Key: "none.pem", CA: "none.pem"}.clusterState(zap.NewNop())
	require.ErrorContains(t, err, "no such file")
}
