// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"cmp"
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
	"github.com/ironstate/ironstate/machine"
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

// isSet reports whether any field is set.
func (c Cluster) isSet() bool {
	return len(c.Peers) > 0 || c.Name+c.Cert+c.Key+c.CA+c.Client+c.Replace != "" || c.Insecure
}

// check returns a [*machine.ConfigError] if the cluster's configuration is invalid.
func (c Cluster) check() error {
	if !c.isSet() {
		return nil
	}
	invalid := func(field, value, want string) error {
		return &machine.ConfigError{Package: "embedded", Field: "Cluster." + field, Value: value, Want: want}
	}
	if len(c.Peers) == 0 {
		return &machine.ConfigError{Package: "embedded", Field: "Cluster.Peers", Want: "servers, since other fields of the Cluster are set"}
	}
	names := slices.Sorted(maps.Keys(c.Peers))
	if _, ok := c.Peers[c.Name]; !ok {
		return invalid("Name", c.Name, fmt.Sprintf("the name of one of the servers %q", names))
	}
	if _, ok := c.Peers[c.Replace]; c.Replace != "" && (!ok || c.Replace == c.Name) {
		return invalid("Replace", c.Replace, fmt.Sprintf("the name of another of the servers %q", names))
	}
	secure := 0
	for _, name := range names {
		peer := c.Peers[name]
		https, err := endpoint.IsHTTPS(peer)
		switch {
		case name == "" || strings.ContainsAny(name, "=,"):
			return invalid("Peers", name, "servers with non-empty names without commas and equals signs")
		case err != nil:
			return &machine.ConfigError{Package: "embedded", Field: "Cluster.Peers", Err: err}
		case https:
			secure++
		case !c.Insecure && !isLoopback(peer):
			return invalid("Peers", peer, "https with a certificate, its key and the CA, since others can reach it, or Insecure")
		}
	}
	return cmp.Or(c.checkTLS(secure), c.checkClient())
}

// checkTLS returns an error unless all peers or none have https, and the files for it are given with it alone. secure
// is the number of peers with https.
func (c Cluster) checkTLS(secure int) error {
	if secure != 0 && secure != len(c.Peers) {
		err := errors.New("some have https and some http: use one of them")
		return &machine.ConfigError{Package: "embedded", Field: "Cluster.Peers", Err: err}
	}
	for _, file := range []struct{ field, path string }{{"Cert", c.Cert}, {"Key", c.Key}, {"CA", c.CA}} {
		want := "none, since the servers have http, or servers with https"
		if secure > 0 {
			want = "a file, since the servers have https"
		}
		if (file.path == "") == (secure > 0) {
			return &machine.ConfigError{Package: "embedded", Field: "Cluster." + file.field, Value: file.path, Want: want}
		}
	}
	return nil
}

// checkClient returns an error for a URL at which others than this machine's processes could reach the server.
func (c Cluster) checkClient() error {
	if c.Client == "" {
		return nil
	}
	if https, err := endpoint.IsHTTPS(c.Client); err != nil {
		return &machine.ConfigError{Package: "embedded", Field: "Cluster.Client", Err: err}
	} else if https || !isLoopback(c.Client) {
		return &machine.ConfigError{Package: "embedded", Field: "Cluster.Client", Value: c.Client,
			Want: "http on the loopback interface, such as http://127.0.0.1:2379"}
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

// Exists reports whether a folder, the Dir of a [Config], has the database of a server: a single one or one of a
// cluster.
func Exists(dir string) (bool, error) {
	for _, each := range []string{aloneDir, peerDir} {
		if _, err := os.Stat(filepath.Join(dir, each)); !errors.Is(err, fs.ErrNotExist) {
			return err == nil, err
		}
	}
	return false, nil
}

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
		// By net.Listen these are all IPv4 and IPv6 addresses. Unlike [::], it also works on a host without IPv6.
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
