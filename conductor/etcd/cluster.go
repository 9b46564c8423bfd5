package etcd

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
)

// Cluster says which servers form a cluster, each in a process of its own. The zero
// value is none. Three servers go on when one is lost, five when two are. Each listens
// for the others: clients are the processes that they are in.
type Cluster struct {
	// Name is that of the server in this process, one of Peers.
	Name string
	// Peers are the URLs at which the servers reach each other, by the servers' names:
	// the same in each process, and the same after a restart. A host that is no IP
	// address is listened for at all addresses.
	Peers map[string]string
	// Cert, Key and CA are files in PEM, for URLs with https: the server's certificate,
	// which has to be right for a client as well, its key, and the authority that has
	// signed those of all servers. Nobody with another certificate is a peer.
	Cert, Key, CA string
	// Client is the URL, with http and on the loopback interface, at which etcdctl
	// reaches the server in this process, and anybody else on this machine; empty: nobody
	// does.
	Client string
	// Replace names another server of Peers whose folder is lost. Open then removes it from
	// the cluster and adds it again, so that its process can be started with an empty
	// folder. Open refuses to replace a server that still runs. Empty replaces none.
	Replace string
	// Insecure permits URLs with http beyond the loopback interface, where anybody may
	// read and write everything.
	Insecure bool
}

// token is in the identity of each cluster that this package makes.
const token = "ironstate"

func (c Cluster) isSet() bool { return c.Name != "" || len(c.Peers) > 0 }

// check returns why the cluster cannot be.
func (c Cluster) check(dir string) error {
	if !c.isSet() {
		return nil
	}
	if dir == "" {
		return errors.New("Cluster is set and Dir is not: each server of a cluster has a folder")
	}
	if _, ok := c.Peers[c.Name]; !ok {
		return fmt.Errorf("the Cluster has the servers %q, and this one is %q", slices.Sorted(maps.Keys(c.Peers)), c.Name)
	}
	if _, ok := c.Peers[c.Replace]; c.Replace != "" && (!ok || c.Replace == c.Name) {
		return fmt.Errorf("Replace is %q, which has to be another server of the Cluster: %q", c.Replace, slices.Sorted(maps.Keys(c.Peers)))
	}
	secure := 0
	for name, peer := range c.Peers {
		if name == "" || strings.ContainsAny(name, "=,") {
			return fmt.Errorf("%q is no name of a server: it has to be a word without a comma or an equals sign", name)
		}
		https, err := isHTTPS(peer)
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
		if https, err := isHTTPS(c.Client); err != nil {
			return err
		} else if https || !isLoopback(c.Client) {
			return fmt.Errorf("the Client URL of the Cluster is %s: want http on the loopback interface, such as http://127.0.0.1:2379", c.Client)
		}
	}
	switch {
	case secure != 0 && secure != len(c.Peers):
		return errors.New("some peers of the Cluster have https and some http: use one of them")
	case secure > 0 && (c.Cert == "" || c.Key == "" || c.CA == ""):
		return errors.New("the peers of the Cluster have https, and Cert, Key or CA is missing")
	case secure == 0 && (c.Cert != "" || c.Key != "" || c.CA != ""):
		return errors.New("the Cluster has a Cert, Key or CA, and its peers would be reached without TLS: write https")
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

// The folders of a server, in Config.Dir.
const (
	aloneDir = "etcd"
	peerDir  = "peer"
)

// checkOther returns an error where Config.Dir has the records of a server of the other
// sort.
func checkOther(c Config, other, is string) error {
	if _, err := os.Stat(filepath.Join(c.Dir, other)); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	return fmt.Errorf("the folder has the records of a server that is %s", is)
}

// openPeer starts the server of a folder that is one of a cluster's.
func openPeer(ctx context.Context, c Config, log *zap.Logger) (*embed.Etcd, error) {
	if err := checkOther(c, aloneDir, "alone: a cluster begins with an empty folder"); err != nil {
		return nil, err
	}
	dir := filepath.Join(c.Dir, peerDir)
	config, err := peerConfig(dir, c, log)
	if err != nil {
		return nil, err
	}
	if hasPromisedNothing(dir) {
		if err := os.RemoveAll(dir); err != nil {
			return nil, err
		}
		if config.ClusterState, err = c.Cluster.clusterState(log); err != nil {
			return nil, err
		}
	}
	return startServer(ctx, config)
}

// hasPromisedNothing reports whether a folder has no vote and no entry of the log in it.
// A process that ends while etcd makes the files leaves some that no server ever
// starts from; nobody relies on a server that had not got further.
func hasPromisedNothing(dir string) bool {
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
	// Nobody has to listen there. By it the others know a server again that has lost its
	// folder, and refuse it: it has forgotten its votes and its log.
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
