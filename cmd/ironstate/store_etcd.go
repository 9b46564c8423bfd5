// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/ironstate/ironstate/cmd/ironstate/internal/observe"
	"github.com/ironstate/ironstate/conductor/etcd"
	"github.com/ironstate/ironstate/conductor/etcd/embedded"
	"github.com/ironstate/ironstate/internal/program"
	"github.com/ironstate/ironstate/verify/secret"
)

// etcdFlags are the flags of the stores on etcd: in the folder -data, on another etcd cluster that several conductors
// share, or on one that their own processes form. Only the files store_etcd*.go use package etcd.
type etcdFlags struct {
	peers                     string // the servers of the processes; the folder is -data
	client, replace           string
	peerCA, peerCert, peerKey string
	insecure                  bool

	endpoints     string
	user          string
	ca, cert, key string
}

func (e *etcdFlags) define(flags *flag.FlagSet) {
	flags.StringVar(&e.endpoints, "etcd", "", "comma-separated `URLs` of an etcd cluster on which several conductors share the nodes")
	flags.StringVar(&e.user, "etcd-user", "", "etcd's `user`; the password is in the environment variable ETCD_PASSWORD")
	flags.StringVar(&e.ca, "etcd-ca", "", "`file` of the CAs of etcd's certificates, in PEM; empty stands for the system's CAs")
	flags.StringVar(&e.cert, "etcd-cert", "", "`file` of the client certificate for etcd, in PEM")
	flags.StringVar(&e.key, "etcd-key", "", "`file` of the client certificate's key, in PEM")
	flags.StringVar(&e.peers, "cluster", "", "`servers` of an etcd cluster that these programs form, as name=URL separated by commas; "+
		"this server is -name, and its records are in -data")
	flags.StringVar(&e.client, "cluster-client", "",
		"`URL` on the loopback interface at which this server of -cluster listens for etcdctl, without authentication, "+
			"such as http://127.0.0.1:2379; empty disables it")
	flags.StringVar(&e.peerCA, "cluster-ca", "", "`file` of the CA that has signed the certificates of all servers of -cluster, in PEM")
	flags.StringVar(&e.peerCert, "cluster-cert", "", "`file` of this server's certificate, in PEM")
	flags.StringVar(&e.peerKey, "cluster-key", "", "`file` of this server's key, in PEM")
	flags.StringVar(&e.replace, "cluster-replace", "",
		"`name` of another server of -cluster that has lost its folder and does not run, so that it can be started with an empty folder")
	flags.BoolVar(&e.insecure, "insecure-cluster-without-tls", false,
		"let the servers of -cluster use http beyond the loopback interface although everyone there can then read and write all records")
}

func (*etcdFlags) sharing() []string { return []string{"etcd", "cluster"} }

// shared reports whether several conductors share the nodes.
func (e *etcdFlags) shared() bool { return e.endpoints != "" || e.peers != "" }

func (e *etcdFlags) chosen(s storeSettings) bool { return e.shared() || s.data != "" }

func (e *etcdFlags) place(s storeSettings) string {
	switch {
	case e.peers != "":
		return fmt.Sprintf("in %s and with the others of %s", s.data, e.peers)
	case e.endpoints != "":
		return "at " + e.endpoints
	default:
		return "in " + s.data
	}
}

func (e *etcdFlags) check(s storeSettings) error {
	switch {
	case e.endpoints != "" && s.data != "":
		return program.Usagef("-data and -etcd exclude each other: the nodes are in one store")
	case e.endpoints != "" && e.peers != "":
		return program.Usagef("-cluster and -etcd exclude each other: the nodes are in one store")
	case e.endpoints == "" && e.user+e.ca+e.cert+e.key != "":
		return program.Usagef("-etcd-user, -etcd-ca, -etcd-cert and -etcd-key need -etcd")
	case (e.cert == "") != (e.key == ""):
		return program.Usagef("-etcd-cert and -etcd-key need each other: one of them is missing")
	case e.peers == "" && (e.client+e.replace+e.peerCert+e.peerKey+e.peerCA != "" || e.insecure):
		return program.Usagef("-cluster-client, -cluster-replace, -cluster-cert, -cluster-key, -cluster-ca and " +
			"-insecure-cluster-without-tls need -cluster")
	case e.peers == "":
		return nil
	}
	config, err := e.peerConfig(s, nil)
	return cmp.Or(err, usageOf(etcdFlagOf, config.Check()))
}

func (e *etcdFlags) peersByName() (map[string]string, error) {
	peers := map[string]string{}
	for part := range strings.SplitSeq(e.peers, ",") {
		name, url, ok := strings.Cut(part, "=")
		if _, twice := peers[name]; !ok || twice || name == "" {
			return nil, program.Usagef("-cluster is %q: want name=URL,name=URL with each name once, "+
				"such as alpha=http://127.0.0.1:2380,beta=http://127.0.0.1:2381", e.peers)
		}
		peers[name] = url
	}
	return peers, nil
}

func (e *etcdFlags) open(ctx context.Context, s storeSettings, log *slog.Logger) (*openedStore, error) {
	store, end, err := e.start(ctx, s, log)
	if err != nil {
		return nil, err
	}
	opened := &openedStore{
		Store: store, kind: "etcd", health: func() observe.Readiness { return etcdReadiness(store.Health()) }, noSpace: etcd.ErrNoSpace,
		metrics: etcdMetrics(s.data), close: end,
	}
	if e.shared() {
		opened.membership = store.Membership(s.lease)
	}
	return opened, nil
}

// etcdReadiness returns the readiness of a store by its health.
func etcdReadiness(health error) observe.Readiness {
	switch {
	case health == nil:
		return observe.Ready
	case errors.Is(health, etcd.ErrNoMajority): // too few servers run to read or write
		return observe.NoMajority
	case errors.Is(health, etcd.ErrNoSpace): // the store refuses writes
		return observe.DiskFull
	default:
		return observe.Stopping
	}
}

// start opens the store, and provides backups of its folder to other processes. The function end closes it.
func (e *etcdFlags) start(ctx context.Context, s storeSettings, log *slog.Logger) (store *etcd.Store, end func() error, err error) {
	if store, err = e.connect(ctx, s, log); err != nil {
		return nil, nil, err
	}
	if s.data == "" {
		return store, store.Close, nil
	}
	stop, err := offerBackups(s.data, store.Backup, log)
	if err != nil {
		log.Warn("backups of this folder are possible only while the program does not run", "error", err)
		return store, store.Close, nil
	}
	return store, func() error { stop(); return store.Close() }, nil
}

// connect opens the store in the folder, as a client of -etcd, or as one of the servers of -cluster.
func (e *etcdFlags) connect(ctx context.Context, s storeSettings, log *slog.Logger) (*etcd.Store, error) {
	switch {
	case !e.shared():
		return embedded.Open(ctx, embedded.Config{Dir: s.data, Log: log})
	case e.peers == "":
		config, err := e.config(log)
		if err != nil {
			return nil, err
		}
		store, err := etcd.Open(ctx, config)
		return store, usageOf(etcdFlagOf, err)
	}
	config, err := e.peerConfig(s, log)
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
func (e *etcdFlags) peerConfig(s storeSettings, log *slog.Logger) (embedded.Config, error) {
	peers, err := e.peersByName()
	return embedded.Config{Dir: s.data, Log: log, Cluster: embedded.Cluster{
		Name: s.name, Peers: peers, CA: e.peerCA, Cert: e.peerCert, Key: e.peerKey, Client: e.client, Replace: e.replace, Insecure: e.insecure,
	}}, err
}

// config returns the configuration of the store on the cluster of -etcd.
func (e *etcdFlags) config(log *slog.Logger) (etcd.Config, error) {
	config := etcd.Config{
		Endpoints: strings.Split(e.endpoints, ","), User: e.user, Password: secret.New(os.Getenv("ETCD_PASSWORD")), Log: log,
	}
	if e.ca == "" && e.cert == "" && e.key == "" {
		return config, nil
	}
	config.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	if e.ca != "" {
		pem, err := readFile(e.ca)
		if err != nil {
			return config, fmt.Errorf("-etcd-ca: %w", err)
		}
		config.TLS.RootCAs = x509.NewCertPool()
		if !config.TLS.RootCAs.AppendCertsFromPEM(pem) {
			return config, fmt.Errorf("-etcd-ca: %s has no certificate in PEM", e.ca)
		}
	}
	if e.cert != "" {
		pair, err := readKeyPair(e.cert, e.key)
		if err != nil {
			return config, fmt.Errorf("-etcd-cert and -etcd-key: %w", err)
		}
		config.TLS.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// backup implements [backupKind]. If another process has the folder open, it requests the backup from that process.
func (e *etcdFlags) backup(ctx context.Context, s storeSettings, w io.Writer, log *slog.Logger) error {
	if e.endpoints == "" {
		if err := hasStore(s.data); err != nil {
			return err
		}
	}
	store, end, err := e.start(ctx, s, log)
	switch {
	case errors.Is(err, embedded.ErrInUse):
		return requestBackup(ctx, s.data, w)
	case err != nil:
		return err
	}
	return errors.Join(store.Backup(ctx, w), end())
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

// restore implements [backupKind].
func (e *etcdFlags) restore(ctx context.Context, s storeSettings, file string, log *slog.Logger) error {
	if s.data == "" {
		return program.Usagef("-restore needs -data: restore another etcd cluster with etcdutl")
	}
	config := embedded.Config{Dir: s.data, Log: log}
	if e.peers != "" {
		var err error
		if config, err = e.peerConfig(s, log); err != nil {
			return err
		}
	}
	return embedded.Restore(ctx, config, file)
}

// etcdFlagOf is flagOf for the configurations of the stores.
var etcdFlagOf = map[string]string{
	"etcd.Endpoints":          "-etcd",
	"embedded.Dir":            "-data",
	"embedded.Cluster.Name":   "-name",
	"embedded.Cluster.Peers":  "-cluster",
	"embedded.Cluster.Client": "-cluster-client", "embedded.Cluster.Replace": "-cluster-replace",
	"embedded.Cluster.Cert": "-cluster-cert", "embedded.Cluster.Key": "-cluster-key", "embedded.Cluster.CA": "-cluster-ca",
}
