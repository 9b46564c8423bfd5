// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/client/pkg/v3/transport"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.etcd.io/raft/v3/raftpb"
	"go.uber.org/zap"
)

func TestWhichClustersAreValid(t *testing.T) {
	peers := func(a, b string) map[string]string { return map[string]string{"a": a, "b": b} }
	local := peers("http://127.0.0.1:1", "http://localhost:2")
	secure := peers("https://10.0.0.1:1", "https://[2001:db8::1]:2")
	named := maps.Clone(local)
	for name, test := range map[string]struct {
		cluster Cluster
		text    string // of the error, "" for none
	}{
		"none":                       {Cluster{}, ""},
		"on this machine":            {Cluster{Name: "a", Peers: local}, ""},
		"on this machine, IPv6":      {Cluster{Name: "b", Peers: peers("http://[::1]:1", "http://127.0.0.2:2")}, ""},
		"without a name":             {Cluster{Peers: local}, `Cluster.Name is "": want the name of one of the servers ["a" "b"]`},
		"without servers":            {Cluster{Name: "a"}, "Cluster.Peers is not set: want servers"},
		"with another name":          {Cluster{Name: "c", Peers: local}, `Cluster.Name is "c": want`},
		"that replaces another":      {Cluster{Name: "a", Peers: local, Replace: "b"}, ""},
		"that replaces nobody":       {Cluster{Name: "a", Peers: local, Replace: "c"}, `Cluster.Replace is "c": want the name of another`},
		"that replaces itself":       {Cluster{Name: "a", Peers: local, Replace: "a"}, `Cluster.Replace is "a": want the name of another`},
		"of a server without a name": {Cluster{Name: "a", Peers: with(named, "")}, `Cluster.Peers is "": want servers with non-empty names`},
		"of a name with a comma":     {Cluster{Name: "a", Peers: with(named, "b,c")}, `Cluster.Peers is "b,c": want servers with`},
		"of a name with an =":        {Cluster{Name: "a", Peers: with(named, "b=c")}, `Cluster.Peers is "b=c": want servers with`},
		"of a client alone":          {Cluster{Client: "http://127.0.0.1:3"}, "Cluster.Peers is not set"},
		"of a replacement alone":     {Cluster{Replace: "a"}, "Cluster.Peers is not set"},
		"of a certificate alone":     {Cluster{Cert: "c"}, "Cluster.Peers is not set"},
		"of a permission alone":      {Cluster{Insecure: true}, "Cluster.Peers is not set"},
		"of no URL":                  {Cluster{Name: "a", Peers: peers("http://127.0.0.1:1", "10.0.0.1:2")}, "is not a URL"},

		"in clear text": {Cluster{Name: "a", Peers: peers("http://127.0.0.1:1", "http://10.0.0.1:2")},
			`Cluster.Peers is "http://10.0.0.1:2": want https with a certificate`},
		"in clear text, by its name": {Cluster{Name: "a", Peers: peers("http://127.0.0.1:1", "http://b.example:2")},
			`is "http://b.example:2": want https`},
		"in clear text, as wanted": {Cluster{Name: "a", Peers: peers("http://10.0.0.2:1", "http://10.0.0.1:2"), Insecure: true}, ""},
		"with TLS":                 {Cluster{Name: "a", Peers: secure, Cert: "c", Key: "k", CA: "ca"}, ""},
		"with TLS in part": {Cluster{Name: "a", Peers: peers("http://127.0.0.1:1", "https://127.0.0.1:2"), Cert: "c",
			Key: "k", CA: "ca"}, "Cluster.Peers: some have https and some http"},
		"with TLS, no certificate":   {Cluster{Name: "a", Peers: secure, Key: "k", CA: "ca"}, `Cluster.Cert is "": want a file`},
		"with TLS, no key":           {Cluster{Name: "a", Peers: secure, Cert: "c", CA: "ca"}, `Cluster.Key is "": want a file`},
		"with TLS, no authority":     {Cluster{Name: "a", Peers: secure, Cert: "c", Key: "k"}, `Cluster.CA is "": want a file`},
		"with a certificate, no TLS": {Cluster{Name: "a", Peers: local, Cert: "c"}, `Cluster.Cert is "c": want none`},
		"with a key, no TLS":         {Cluster{Name: "a", Peers: local, Key: "k"}, `Cluster.Key is "k": want none`},
		"with an authority, no TLS":  {Cluster{Name: "a", Peers: local, CA: "ca"}, `Cluster.CA is "ca": want none`},
		"for clients":                {Cluster{Name: "a", Peers: local, Client: "http://127.0.0.1:3"}, ""},
		"for clients, no URL":        {Cluster{Name: "a", Peers: local, Client: "127.0.0.1:3"}, "is not a URL"},
		"for clients with TLS":       {Cluster{Name: "a", Peers: local, Client: "https://127.0.0.1:3"}, "want http on the loopback interface"},
		"for clients on the network": {Cluster{Name: "a", Peers: local, Client: "http://0.0.0.0:3"}, "want http on the loopback interface"},
		"for clients of a host name": {Cluster{Name: "a", Peers: local, Client: "http://etcd:3"}, "want http on the loopback interface"},
	} {
		err := test.cluster.check()
		if test.text == "" {
			require.NoError(t, err, name)
		} else {
			require.ErrorContains(t, err, test.text, name)
		}
	}
}

// with returns servers with one more on this machine.
func with(peers map[string]string, name string) map[string]string {
	peers = maps.Clone(peers)
	peers[name] = "http://127.0.0.1:3"
	return peers
}

func TestTheConfigurationOfAServerOfACluster(t *testing.T) {
	parse := func(text string) url.URL {
		u, err := url.Parse(text)
		require.NoError(t, err)
		return *u
	}
	for name, test := range map[string]struct {
		cluster        Cluster
		listen, client string
	}{
		"at an address": {Cluster{Name: "a", Peers: map[string]string{"a": "https://10.0.0.1:1", "b": "https://b:2"}, Cert: "c",
			Key: "k", CA: "ca"}, "https://10.0.0.1:1", ""},
		"at a name": {Cluster{Name: "b", Peers: map[string]string{"a": "https://10.0.0.1:1", "b": "https://b:2"}, Cert: "c",
			Key: "k", CA: "ca"}, "https://0.0.0.0:2", ""},
		"for clients": {Cluster{Name: "a", Peers: map[string]string{"b": "http://localhost:2", "a": "http://localhost:1"},
			Client: "http://127.0.0.1:3"}, "http://localhost:1", "http://127.0.0.1:3"},
	} {
		c, err := peerConfig("dir", Config{Quota: 7, Cluster: test.cluster}, zap.NewNop())
		require.NoError(t, err, name)
		self := test.cluster.Peers[test.cluster.Name]
		require.Equal(t, test.cluster.Name, c.Name)
		require.Equal(t, "dir", c.Dir)
		require.EqualValues(t, 7, c.QuotaBackendBytes)
		require.Equal(t, "a="+test.cluster.Peers["a"]+",b="+test.cluster.Peers["b"], c.InitialCluster, "the same on all servers")
		require.Equal(t, token, c.InitialClusterToken)
		require.Equal(t, []url.URL{parse(test.listen)}, c.ListenPeerUrls, name)
		require.Equal(t, []url.URL{parse(self)}, c.AdvertisePeerUrls)
		if test.client == "" {
			require.Empty(t, c.ListenClientUrls)
			require.Equal(t, []url.URL{parse("http://127.0.0.1:0")}, c.AdvertiseClientUrls)
		} else {
			require.Equal(t, []url.URL{parse(test.client)}, c.ListenClientUrls)
			require.Equal(t, c.ListenClientUrls, c.AdvertiseClientUrls)
		}
		if test.cluster.Cert != "" {
			require.Equal(t, transport.TLSInfo{CertFile: "c", KeyFile: "k", TrustedCAFile: "ca", ClientCertAuth: true}, c.PeerTLSInfo)
		} else {
			require.Equal(t, transport.TLSInfo{}, c.PeerTLSInfo)
		}
	}
	for _, c := range []Cluster{
		{Name: "a", Peers: map[string]string{"a": "http://["}}, {Name: "a", Peers: map[string]string{"a": "http://h:1"}, Client: "http://["},
	} {
		_, err := peerConfig("dir", Config{Cluster: c}, zap.NewNop())
		require.ErrorContains(t, err, "missing ']'")
	}
}

func TestAFolderWithoutAVoteMayBeDeleted(t *testing.T) {
	for name, test := range map[string]struct {
		prepare func(t *testing.T, log string)
		want    bool
	}{
		"nothing":   {func(*testing.T, string) {}, true},
		"a new log": {func(t *testing.T, log string) { saved(t, log, &raftpb.HardState{}) }, true},
		"a vote": {func(t *testing.T, log string) {
			saved(t, log, &raftpb.HardState{Term: new(uint64(1)), Vote: new(uint64(2))})
		}, false},
		"an entry": {func(t *testing.T, log string) {
			saved(t, log, &raftpb.HardState{}, &raftpb.Entry{Index: new(uint64(1)), Term: new(uint64(1))})
		}, false},
		"noise": {func(t *testing.T, log string) {
			saved(t, log, &raftpb.HardState{})
			require.NoError(t, os.WriteFile(filepath.Join(log, "0000000000000000-0000000000000000.wal"), []byte("noise noise noise"), 0o600))
		}, false},
		"a gap": {func(t *testing.T, log string) {
			saved(t, log, &raftpb.HardState{})
			require.NoError(t, os.Rename(filepath.Join(log, "0000000000000000-0000000000000000.wal"),
				filepath.Join(log, "0000000000000007-0000000000000007.wal")))
		}, false},
	} {
		dir := t.TempDir()
		require.NoError(t, os.Mkdir(filepath.Join(dir, "member"), 0o700))
		test.prepare(t, filepath.Join(dir, "member", "wal"))
		require.Equal(t, test.want, hasNoRaftState(dir), name)
	}
}

// saved creates a log.
func saved(t *testing.T, log string, state *raftpb.HardState, entries ...*raftpb.Entry) {
	w, err := wal.Create(zap.NewNop(), log, nil)
	require.NoError(t, err)
	require.NoError(t, w.Save(state, entries))
	require.NoError(t, w.Close())
}

func TestRecordsOfALoneServerAreDetected(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, aloneDir), 0o700))
	require.NoError(t, checkOther(Config{Dir: dir}, peerDir, "x"))
	require.EqualError(t, checkOther(Config{Dir: dir}, aloneDir, "alone"), "the folder has the records of a server that is alone")
	file := filepath.Join(dir, "file")
	require.NoError(t, fileAt(file))
	require.ErrorContains(t, checkOther(Config{Dir: file}, peerDir, "x"), "not a directory")
}

// hardState returns the state of Raft in which a server has voted.
func hardState(vote uint64) *raftpb.HardState {
	return &raftpb.HardState{Term: new(uint64(1)), Vote: &vote}
}
