// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"flag"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/ironstate/ironstate/conductor/etcd"
	"github.com/ironstate/ironstate/conductor/etcd/embedded"
	"github.com/ironstate/ironstate/internal/program"
	"github.com/ironstate/ironstate/verify/secret"
)

// clusterFlags are the flags for an etcd cluster that several conductors share: another cluster, or one
// that their own processes form.
type clusterFlags struct {
	peers                     string // the servers of the processes; the folder is -data
	client, replace           string
	peerCA, peerCert, peerKey string
	insecure                  bool

	endpoints     string
	user          string
	ca, cert, key string
	lease         time.Duration
}

func (c *clusterFlags) define(flags *flag.FlagSet) {
	flags.StringVar(&c.endpoints, "etcd", "", "comma-separated `URLs` of an etcd cluster on which several conductors share the nodes")
	flags.StringVar(&c.user, "etcd-user", "", "etcd's `user`; the password is in the environment variable ETCD_PASSWORD")
	flags.StringVar(&c.ca, "etcd-ca", "", "`file` of the CAs of etcd's certificates, in PEM; empty stands for the system's CAs")
	flags.StringVar(&c.cert, "etcd-cert", "", "`file` of the client certificate for etcd, in PEM")
	flags.StringVar(&c.key, "etcd-key", "", "`file` of the client certificate's key, in PEM")
	flags.StringVar(&c.peers, "cluster", "", "`servers` of an etcd cluster that these programs form, as name=URL separated by commas; "+
		"this server is -name, and its records are in -data")
	flags.StringVar(&c.client, "cluster-client", "",
		"`URL` on the loopback interface at which this server of -cluster listens for etcdctl, without authentication, "+
			"such as http://127.0.0.1:2379; empty disables it")
	flags.StringVar(&c.peerCA, "cluster-ca", "", "`file` of the CA that has signed the certificates of all servers of -cluster, in PEM")
	flags.StringVar(&c.peerCert, "cluster-cert", "", "`file` of this server's certificate, in PEM")
	flags.StringVar(&c.peerKey, "cluster-key", "", "`file` of this server's key, in PEM")
	flags.StringVar(&c.replace, "cluster-replace", "",
		"`name` of another server of -cluster that has lost its folder and does not run, so that it can be started with an empty folder")
	flags.BoolVar(&c.insecure, "insecure-cluster-without-tls", false,
		"let the servers of -cluster use http beyond the loopback interface although everyone there can then read and write all records")
	flags.DurationVar(&c.lease, "lease", etcd.DefaultTTL,
		"`time` without renewal after which the other conductors take the nodes of a conductor over")
}

// shared reports whether several conductors share the nodes.
func (c *clusterFlags) shared() bool { return c.endpoints != "" || c.peers != "" }

// The limits of -lease. The store would raise a shorter lease to the first one, and etcd refuses one of 285 years.
const (
	minLease = 2 * time.Second
	maxLease = 365 * 24 * time.Hour
)

func (c *clusterFlags) checkLease() error {
	if c.lease < minLease || c.lease > maxLease {
		return program.Usagef("-lease is %v: want %v to %v", c.lease, minLease, maxLease)
	}
	return nil
}

// check returns an error if the flags contradict each other or -data.
func (c *clusterFlags) check(name, data string) error {
	switch {
	case c.endpoints != "" && data != "":
		return program.Usagef("-data and -etcd exclude each other: the nodes are in one store")
	case c.endpoints != "" && c.peers != "":
		return program.Usagef("-cluster and -etcd exclude each other: the nodes are in one store")
	case c.endpoints == "" && c.user+c.ca+c.cert+c.key != "":
		return program.Usagef("-etcd-user, -etcd-ca, -etcd-cert and -etcd-key need -etcd")
	case (c.cert == "") != (c.key == ""):
		return program.Usagef("-etcd-cert and -etcd-key need each other: one of them is missing")
	case c.peers == "" && (c.client+c.replace+c.peerCert+c.peerKey+c.peerCA != "" || c.insecure):
		return program.Usagef("-cluster-client, -cluster-replace, -cluster-cert, -cluster-key, -cluster-ca and " +
			"-insecure-cluster-without-tls need -cluster")
	case c.peers == "":
		return nil
	}
	config, err := c.peerConfig(name, data, nil)
	return cmp.Or(err, usageOf(config.Check()))
}

func (c *clusterFlags) peersByName() (map[string]string, error) {
	peers := map[string]string{}
	for part := range strings.SplitSeq(c.peers, ",") {
		name, url, ok := strings.Cut(part, "=")
		if _, twice := peers[name]; !ok || twice || name == "" {
			return nil, program.Usagef("-cluster is %q: want name=URL,name=URL with each name once, "+
				"such as alpha=http://127.0.0.1:2380,beta=http://127.0.0.1:2381", c.peers)
		}
		peers[name] = url
	}
	return peers, nil
}

// open opens the store of the cluster, or without a cluster the store in the folder.
func (c *clusterFlags) open(ctx context.Context, name, data string, log *slog.Logger) (*openedStore, error) {
	store, err := c.openEtcd(ctx, name, data, log)
	if err != nil {
		return nil, err
	}
	opened := &openedStore{Store: store, backup: store.Backup, health: store.Health, close: store.Close}
	if c.shared() {
		opened.membership = store.Membership(c.lease)
	}
	return opened, nil
}

// openEtcd opens the store as a client of -etcd, or in this process.
func (c *clusterFlags) openEtcd(ctx context.Context, name, data string, log *slog.Logger) (*etcd.Store, error) {
	switch {
	case !c.shared():
		return embedded.Open(ctx, embedded.Config{Dir: data, Log: log})
	case c.peers == "":
		config, err := c.config(log)
		if err != nil {
			return nil, err
		}
		store, err := etcd.Open(ctx, config)
		return store, usageOf(err)
	}
	config, err := c.peerConfig(name, data, log)
	if err != nil {
		return nil, err
	}
	defer time.AfterFunc(patience, func() {
		log.Warn("this server waits for the other servers of -cluster: more than half of all servers must run")
	}).Stop()
	return embedded.Open(ctx, config)
}

// patience is how long a server waits for the others before it logs that it waits.
const patience = 3 * time.Second

// peerConfig returns the configuration of this process as a server of -cluster.
func (c *clusterFlags) peerConfig(name, data string, log *slog.Logger) (embedded.Config, error) {
	peers, err := c.peersByName()
	return embedded.Config{Dir: data, Log: log, Cluster: embedded.Cluster{
		Name: name, Peers: peers, CA: c.peerCA, Cert: c.peerCert, Key: c.peerKey, Client: c.client, Replace: c.replace, Insecure: c.insecure,
	}}, err
}

// config returns the configuration of the store on the cluster of -etcd.
func (c *clusterFlags) config(log *slog.Logger) (etcd.Config, error) {
	config := etcd.Config{
		Endpoints: strings.Split(c.endpoints, ","), User: c.user, Password: secret.New(os.Getenv("ETCD_PASSWORD")), Log: log,
	}
	if c.ca == "" && c.cert == "" && c.key == "" {
		return config, nil
	}
	config.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	if c.ca != "" {
		pem, err := readFile(c.ca)
		if err != nil {
			return config, fmt.Errorf("-etcd-ca: %w", err)
		}
		config.TLS.RootCAs = x509.NewCertPool()
		if !config.TLS.RootCAs.AppendCertsFromPEM(pem) {
			return config, fmt.Errorf("-etcd-ca: %s has no certificate in PEM", c.ca)
		}
	}
	if c.cert != "" {
		pair, err := readKeyPair(c.cert, c.key)
		if err != nil {
			return config, fmt.Errorf("-etcd-cert and -etcd-key: %w", err)
		}
		config.TLS.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// Only this file uses package etcd. The rest of the program tells these errors apart.
var (
	errNoMajority = etcd.ErrNoMajority // too few servers run to read or write
	errNoSpace    = etcd.ErrNoSpace    // the store refuses writes
	errInUse      = embedded.ErrInUse  // another process has the folder open
)

// freeSpace returns the free space of a folder's file system. Writes are refused below reserve.
func freeSpace(folder string) (free, reserve int64, err error) {
	free, err = embedded.FreeSpace(folder)
	return free, embedded.DefaultReserve, err
}

// hasStore returns an error for a folder without nodes.
func hasStore(folder string) error {
	exists, err := embedded.Exists(folder)
	if err == nil && !exists {
		err = fs.ErrNotExist
	}
	if err != nil {
		return fmt.Errorf("%s has no nodes: %w", folder, err)
	}
	return nil
}

// restoreStore creates the folder of a store from the file of a backup.
func restoreStore(ctx context.Context, o *options, file string, log *slog.Logger) error {
	config := embedded.Config{Dir: o.data, Log: log}
	if o.cluster.peers != "" {
		var err error
		if config, err = o.cluster.peerConfig(o.name, o.data, log); err != nil {
			return err
		}
	}
	return embedded.Restore(ctx, config, file)
}
