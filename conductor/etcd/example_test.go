// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"os"
	"os/signal"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/etcd"
	"github.com/ironstate/ironstate/verify/secret"
)

// This configuration is for a cluster with TLS and a password.
func ExampleConfig() {
	store, err := etcd.Open(context.Background(), etcd.Config{
		Endpoints: []string{"https://etcd-1:2379", "https://etcd-2:2379", "https://etcd-3:2379"},
		TLS:       &tls.Config{MinVersion: tls.VersionTLS13},
		User:      "ironstate",
		Password:  secret.New(os.Getenv("ETCD_PASSWORD")),
		Prefix:    "/site-2",
	})
	if err != nil {
		panic(err)
	}
	defer store.Close()
}

// The program knows one server of the cluster, on the same machine.
func ExampleOpen() {
	store, err := etcd.Open(context.Background(), etcd.Config{Endpoints: []string{"http://127.0.0.1:2379"}})
	if err != nil {
		panic(err)
	}
	defer store.Close()
	c, err := conductor.New(conductor.Config{
		Store: store, Membership: store.Membership(etcd.DefaultTTL),
		Hardware: map[string]conductor.Hardware{"fake-hardware": &conductor.Fake{}},
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(c.Run(context.Background()))
}

// The program prints the conductors of the cluster after each change, until it is interrupted. The example of package
// embedded joins as well.
func ExampleMembership() {
	store, err := etcd.Open(context.Background(), etcd.Config{Endpoints: []string{"http://127.0.0.1:2379"}})
	if err != nil {
		panic(err)
	}
	defer store.Close()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	for members, err := range store.Membership(0).Join(ctx, conductor.Member{ID: "1", Hostname: "observer"}) {
		if err != nil {
			panic(err)
		}
		fmt.Println(members)
	}
}
