// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.etcd.io/etcd/server/v3/storage/wal/walpb"
	"go.etcd.io/raft/v3"
	"go.uber.org/zap"

	"github.com/ironstate/ironstate/conductor/etcd/internal/endpoint"
)

// Cluster configures a cluster of etcd servers, each embedded in a separate process. The zero value
// means no cluster. A cluster of three servers tolerates the failure of one, a cluster of five the
// failure of two. A server listens only for its peers; its client is the process that it runs in.
type Cluster struct {
	// Name is the name of the server in this process, a key of Peers.
	Name string
	// Peers maps the servers' names to the URLs at which they reach each other. It must be
	// the same in each process and after a restart. If the host of this server's URL is not
	// an IP address, the server listens on all addresses.
	Peers map[string]string
	// Cert, Key and CA are PEM files for URLs with https: the server's certificate, which
	// must be valid for server and client authentication, its key, and the CA that has signed
	// the certificates of all servers. Peers without a certificate of that CA are refused.
	Cert, Key, CA string
	// Client is the URL at which the server in this process listens for clients such as
	// etcdctl: http on the loopback interface, without authentication. Empty means that it
	// does not listen for clients.
	Client string
	// Replace names another server of Peers whose folder is lost. Open then removes it from
	// the cluster and adds it again, so that its process can be started with an empty
	// folder. Open refuses to replace a server that responds to its peers; a server that is
	// only unreachable must be stopped first. Empty replaces none.
	Replace string
	// Insecure permits peer URLs with http outside the loopback interface. Everyone who can
	// reach them can then read and write all records.
	Insecure bool
}

// token is the initial cluster token of every cluster that this package creates.
const token = "ironstate"

func (c Cluster) isSet() bool { return c.Name != "" || len(c.Peers) > 0 }

// check returns an error if the cluster's configuration is invalid.
func (c Cluster) check() error {
	if !c.isSet() {
		return nil
	}
	if _, ok := c.Peers[c.Name]; !ok {
		return fmt.Errorf("the Cluster has the servers %q, but this one is %q", slices.Sorted(maps.Keys(c.Peers)), c.Name)
	}
	if _, ok := c.Peers[c.Replace]; c.Replace != "" && (!ok || c.Replace == c.Name) {
		return fmt.Errorf("the server to Replace is %q, which has to be another server of the Cluster: %q", c.Replace,
			slices.Sorted(maps.Keys(c.Peers)))
	}
	secure := 0
	for name, peer := range c.Peers {
		if name == "" || strings.ContainsAny(name, "=,") {
			return fmt.Errorf("%q is not a name of a server: want a non-empty text without commas and equals signs", name)
		}
		https, err := endpoint.IsHTTPS(peer)
		if err != nil {
			return err
		}
		if https {
			secure++
		} else if !c.Insecure && !isLoopback(peer) {
			return fmt.Errorf("the peer %s is at %s, which others can reach: use https, with Cert, Key and CA, or set Insecure", name, peer)
		}
	}
	if c.Client != "" {
		if https, err := endpoint.IsHTTPS(c.Client); err != nil {
			return err
		} else if https || !isLoopback(c.Client) {
			return fmt.Errorf("the Client URL of the Cluster is %s: want http on the loopback interface, such as http://127.0.0.1:2379", c.Client)
		}
	}
	switch {
	case secure != 0 && secure != len(c.Peers):
		return errors.New("some peers of the Cluster have https and some http: use one of them")
	case secure > 0 && (c.Cert == "" || c.Key == "" || c.CA == ""):
		return errors.New("the peers of the Cluster have https, but Cert, Key or CA is missing")
	case secure == 0 && (c.Cert != "" || c.Key != "" || c.CA != ""):
		return errors.New("the Cluster has a Cert, Key or CA, but its peers would be reached without TLS: use https")
	}
	return nil
}

func isLoopback(peer string) bool {
	u, err := url.Parse(peer)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// The subfolders of Config.Dir: for a single server, and for a server of a cluster.
const (
	aloneDir = "etcd"
	peerDir  = "peer"
)

// checkOther returns an error if Config.Dir contains the other subfolder.
func checkOther(c Config, other, is string) error {
	if _, err := os.Stat(filepath.Join(c.Dir, other)); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	return fmt.Errorf("the folder has the records of a server that is %s", is)
}

// openPeer starts one server of a cluster.
func openPeer(ctx context.Context, c Config, log *zap.Logger) (*embed.Etcd, error) {
	if err := checkOther(c, aloneDir, "alone: a cluster begins with an empty folder"); err != nil {
		return nil, err
	}
	dir := filepath.Join(c.Dir, peerDir)
	config, err := peerConfig(dir, c, log)
	if err != nil {
		return nil, err
	}
	if err := checkFiles(dir); err != nil {
		return nil, err
	}
	if hasNoRaftState(dir) {
		if err := checkUnused(ctx, dir); err != nil {
			return nil, err
		}
		if err := os.RemoveAll(dir); err != nil {
			return nil, err
		}
		if config.ClusterState, err = c.Cluster.clusterState(log); err != nil {
			return nil, err
		}
	}
	return startServer(ctx, config, 0)
}

// hasNoRaftState reports whether a folder has neither a vote nor a log entry. A process that ends
// while etcd creates the files may leave files from which no server can start. Such a folder may
// be deleted, since no peer depends on a server without votes and log entries.
func hasNoRaftState(dir string) bool {
	log := filepath.Join(dir, "member", "wal")
	if !wal.Exist(log) {
		return true
	}
	w, err := wal.OpenForRead(zap.NewNop(), log, &walpb.Snapshot{})
	if err != nil {
		return false
	}
	defer w.Close()
	_, state, entries, err := w.ReadAll()
	return err == nil && len(entries) == 0 && raft.IsEmptyHardState(state)
}

// peerConfig returns the configuration of one server of a cluster.
func peerConfig(dir string, c Config, log *zap.Logger) (*embed.Config, error) {
	config := baseConfig(dir, c.Quota, log)
	self, err := url.Parse(c.Cluster.Peers[c.Cluster.Name])
	if err != nil {
		return nil, err
	}
	listen := url.URL{Scheme: self.Scheme, Host: self.Host}
	if host := self.Hostname(); host != "localhost" && net.ParseIP(host) == nil {
		listen.Host = net.JoinHostPort("0.0.0.0", self.Port())
	}
	var members []string
	for _, name := range slices.Sorted(maps.Keys(c.Cluster.Peers)) {
		members = append(members, name+"="+c.Cluster.Peers[name])
	}
	config.Name = c.Cluster.Name
	config.InitialCluster, config.InitialClusterToken = strings.Join(members, ","), token
	config.ListenPeerUrls, config.AdvertisePeerUrls = []url.URL{listen}, []url.URL{*self}
	// No server listens at this address. Peers recognize by it a server that has lost its
	// folder, and refuse the server, since it has lost its votes and its log.
	config.AdvertiseClientUrls = []url.URL{{Scheme: "http", Host: "127.0.0.1:0"}}
	if c.Cluster.Client != "" {
		at, err := url.Parse(c.Cluster.Client)
		if err != nil {
			return nil, err
		}
		config.ListenClientUrls, config.AdvertiseClientUrls = []url.URL{*at}, []url.URL{*at}
	}
	config.PeerTLSInfo = c.Cluster.tlsInfo()
	return config, nil
}
