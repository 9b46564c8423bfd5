package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/etcd"
	"github.com/ironstate/ironstate/internal/program"
	"github.com/ironstate/ironstate/verify/bmc/secret"
)

// cluster says which etcd cluster the nodes are in, with those of other conductors: one
// that runs elsewhere, or one that the conductors' own processes are.
type cluster struct {
	peers                     string // of the processes; the folder is -data
	client, replace           string
	peerCA, peerCert, peerKey string
	insecure                  bool

	endpoints     string
	user          string
	ca, cert, key string
	lease         time.Duration
}

func (c *cluster) define(flags *flag.FlagSet) {
	flags.StringVar(&c.endpoints, "etcd", "", "`URLs` of an etcd cluster, with commas in between, on which several conductors share the nodes")
	flags.StringVar(&c.user, "etcd-user", "", "etcd's `user`; the password is in the environment variable ETCD_PASSWORD")
	flags.StringVar(&c.ca, "etcd-ca", "", "`file` of the authorities that sign etcd's certificates, in PEM; empty stands for the system's")
	flags.StringVar(&c.cert, "etcd-cert", "", "`file` of a client's certificate for etcd, in PEM")
	flags.StringVar(&c.key, "etcd-key", "", "`file` of its key, in PEM")
	flags.StringVar(&c.peers, "cluster", "", "`servers` of an etcd cluster that these programs are themselves, as name=URL with commas in between: this one is -name, and its records are in -data")
	flags.StringVar(&c.client, "cluster-client", "", "`URL` on the loopback interface at which etcdctl, and anybody on this machine, reaches this server of -cluster, such as http://127.0.0.1:2379; empty: nobody does")
	flags.StringVar(&c.peerCA, "cluster-ca", "", "`file` of the authority that has signed the certificates of all servers of -cluster, in PEM")
	flags.StringVar(&c.peerCert, "cluster-cert", "", "`file` of this server's certificate, in PEM")
	flags.StringVar(&c.peerKey, "cluster-key", "", "`file` of its key, in PEM")
	flags.StringVar(&c.replace, "cluster-replace", "", "`name` of another server of -cluster whose folder is lost and which does not run: it may then be started with an empty folder")
	flags.BoolVar(&c.insecure, "insecure-cluster-without-tls", false, "let the servers of -cluster reach each other by http beyond the loopback interface although anybody there may then do anything")
	flags.DurationVar(&c.lease, "lease", etcd.DefaultTTL, "`time` after which a conductor that is not heard of has lost its nodes to the others")
}

// shared reports whether other conductors use the nodes too.
func (c *cluster) shared() bool { return c.endpoints != "" || c.peers != "" }

// check returns how the flags contradict each other or -data.
func (c *cluster) check(name, data string) error {
	switch {
	case c.endpoints != "" && data != "":
		return program.Usagef("-data and -etcd exclude each other: the nodes are in one place")
	case c.endpoints != "" && c.peers != "":
		return program.Usagef("-cluster and -etcd exclude each other: the nodes are in one place")
	case c.peers == "" && c.replace != "":
		return program.Usagef("-cluster-replace needs -cluster, one of whose servers it names")
	case c.peers == "":
		return nil
	case data == "":
		return program.Usagef("-cluster needs -data: each server has a folder")
	}
	peers, err := c.peersByName()
	if err != nil {
		return err
	}
	if _, ok := peers[name]; !ok {
		return program.Usagef("-cluster is %q and -name is %q: want the name of one of the servers", c.peers, name)
	}
	if _, ok := peers[c.replace]; c.replace != "" && (!ok || c.replace == name) {
		return program.Usagef("-cluster-replace is %q and -cluster is %q: want the name of another server", c.replace, c.peers)
	}
	for _, peer := range peers {
		if u, err := url.Parse(peer); err == nil && u.Scheme == "http" && !isLoopback(u.Hostname()) && !c.insecure {
			return program.Usagef("-cluster has %s, which others can reach: write https and give -cluster-ca, -cluster-cert and -cluster-key, or -insecure-cluster-without-tls", peer)
		}
	}
	return nil
}

func (c *cluster) peersByName() (map[string]string, error) {
	peers := map[string]string{}
	for part := range strings.SplitSeq(c.peers, ",") {
		name, url, ok := strings.Cut(part, "=")
		if _, twice := peers[name]; !ok || twice || name == "" {
			return nil, program.Usagef("-cluster is %q: want name=URL,name=URL with each name once, such as alpha=http://127.0.0.1:2380,beta=http://127.0.0.1:2381", c.peers)
		}
		peers[name] = url
	}
	return peers, nil
}

// open opens the store of the cluster, or of a folder where there is none.
func (c *cluster) open(ctx context.Context, name, data string, log *slog.Logger) (*etcd.Store, error) {
	switch {
	case !c.shared():
		return etcd.Open(ctx, etcd.Config{Dir: data, Log: log})
	case c.peers == "":
		config, err := c.config(log)
		if err != nil {
			return nil, err
		}
		return etcd.Open(ctx, config)
	}
	config, err := c.peerConfig(name, data, log)
	if err != nil {
		return nil, err
	}
	defer time.AfterFunc(patience, func() {
		log.Warn("this server waits for the others of -cluster: more than half of them have to run")
	}).Stop()
	return etcd.Open(ctx, config)
}

// patience is how long a server waits for the others until it says so.
const patience = 3 * time.Second

// peerConfig returns the cluster of which this process is a server.
func (c *cluster) peerConfig(name, data string, log *slog.Logger) (etcd.Config, error) {
	peers, err := c.peersByName()
	return etcd.Config{Dir: data, Log: log, Cluster: etcd.Cluster{
		Name: name, Peers: peers, CA: c.peerCA, Cert: c.peerCert, Key: c.peerKey, Client: c.client, Replace: c.replace, Insecure: c.insecure,
	}}, err
}

// config returns the cluster that runs elsewhere as package etcd takes it.
func (c *cluster) config(log *slog.Logger) (etcd.Config, error) {
	config := etcd.Config{
		Endpoints: strings.Split(c.endpoints, ","), User: c.user, Password: secret.New(os.Getenv("ETCD_PASSWORD")), Log: log,
	}
	if c.ca == "" && c.cert == "" && c.key == "" {
		return config, nil
	}
	config.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	if c.ca != "" {
		pem, err := os.ReadFile(c.ca)
		if err != nil {
			return config, fmt.Errorf("-etcd-ca: %w", err)
		}
		config.TLS.RootCAs = x509.NewCertPool()
		if !config.TLS.RootCAs.AppendCertsFromPEM(pem) {
			return config, fmt.Errorf("-etcd-ca: %s has no certificate in PEM", c.ca)
		}
	}
	if c.cert != "" || c.key != "" {
		pair, err := tls.LoadX509KeyPair(c.cert, c.key)
		if err != nil {
			return config, fmt.Errorf("-etcd-cert and -etcd-key: %w", err)
		}
		config.TLS.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// opened is an open store.
type opened struct {
	conductor.Store
	membership conductor.Membership // nil where no other conductor uses the store
	backup     func(context.Context, io.Writer) error
	close      func() error
}

// openStore opens the store of the nodes.
func openStore(ctx context.Context, o *options, log *slog.Logger) (*opened, error) {
	if o.data == "" && !o.cluster.shared() {
		return &opened{Store: &conductor.Memory{}, close: func() error { return nil }}, nil
	}
	store, err := o.cluster.open(ctx, o.name, o.data, log)
	if err != nil {
		return nil, err
	}
	opened := &opened{Store: store, backup: store.Backup, close: store.Close}
	if o.cluster.shared() {
		opened.membership = store.Membership(o.cluster.lease)
	}
	if o.data == "" {
		return opened, nil
	}
	stop, err := offerBackups(o.data, store, log)
	if err != nil {
		log.Warn("backups can be made only while the program does not run", "error", err)
		return opened, nil
	}
	opened.close = func() error { stop(); return store.Close() }
	return opened, nil
}
