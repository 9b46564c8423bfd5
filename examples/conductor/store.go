package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/etcd"
	"github.com/ironstate/ironstate/verify/bmc/secret"
)

// cluster says which etcd cluster the nodes are in, with those of other conductors.
type cluster struct {
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
	flags.DurationVar(&c.lease, "lease", etcd.DefaultTTL, "`time` after which a conductor that is not heard of has lost its nodes to the others")
}

// config returns the cluster as package etcd takes it.
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
	switch {
	case o.cluster.endpoints != "":
		config, err := o.cluster.config(log)
		if err != nil {
			return nil, err
		}
		store, err := etcd.Open(ctx, config)
		if err != nil {
			return nil, err
		}
		return &opened{store, store.Membership(o.cluster.lease), store.Backup, store.Close}, nil
	case o.data != "":
		store, err := etcd.Open(ctx, etcd.Config{Dir: o.data, Log: log})
		if err != nil {
			return nil, err
		}
		stop, err := offerBackups(o.data, store, log)
		if err != nil {
			log.Warn("backups can be made only while the program does not run", "error", err)
			stop = func() {}
		}
		return &opened{store, nil, store.Backup, func() error { stop(); return store.Close() }}, nil
	default:
		return &opened{Store: &conductor.Memory{}, close: func() error { return nil }}, nil
	}
}
