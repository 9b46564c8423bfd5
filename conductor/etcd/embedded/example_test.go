// SPDX-License-Identifier: Apache-2.0

package embedded_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/etcd"
	"github.com/ironstate/ironstate/conductor/etcd/embedded"
	"github.com/ironstate/ironstate/states"
)

// conduct runs a conductor on a store until work returns.
func conduct(store *etcd.Store, work func(context.Context, *conductor.Conductor) error) error {
	c, err := conductor.New(conductor.Config{
		Store: store, Membership: store.Membership(0),
		Hardware: map[string]conductor.Hardware{"fake-hardware": &conductor.Fake{}},
	})
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- c.Run(ctx) }()
	defer func() { stop(); <-done }()
	if err := c.Ready(ctx); err != nil {
		return err
	}
	return work(ctx, c)
}

// The records are in a folder: the second conductor finds the node that the first has enrolled.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	for _, work := range []func(context.Context, *conductor.Conductor) error{
		func(ctx context.Context, c *conductor.Conductor) error {
			_, err := c.CreateNode(ctx, &conductor.Node{Name: "rack1-7", Driver: "fake-hardware", ProvisionState: states.Enroll})
			return err
		},
		func(ctx context.Context, c *conductor.Conductor) error {
			node, err := c.Node(ctx, "rack1-7")
			if err == nil {
				fmt.Println(node.Name, node.ProvisionState)
			}
			return err
		},
	} {
		store, err := embedded.Open(context.Background(), embedded.Config{Dir: dir})
		if err != nil {
			panic(err)
		}
		if err := conduct(store, work); err != nil {
			panic(err)
		}
		if err := store.Close(); err != nil {
			panic(err)
		}
	}
	// Output: rack1-7 enroll
}

// The process of the conductor alpha has one of three servers. Open returns once a second server
// runs.
func ExampleCluster() {
	store, err := embedded.Open(context.Background(), embedded.Config{
		Dir: "/var/lib/ironstate",
		Cluster: embedded.Cluster{
			Name: "alpha",
			Peers: map[string]string{
				"alpha": "https://10.0.0.1:2380", "beta": "https://10.0.0.2:2380", "gamma": "https://10.0.0.3:2380",
			},
			Cert: "alpha.pem", Key: "alpha.key", CA: "ca.pem",
		},
	})
	if err != nil {
		panic(err)
	}
	defer store.Close()
}

// This example saves a store in use and restores it into another folder.
func ExampleRestore() {
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	store, err := embedded.Open(ctx, embedded.Config{Dir: filepath.Join(dir, "fleet")})
	if err != nil {
		panic(err)
	}
	defer store.Close()
	record := conductor.Record{Kind: "nodes", ID: "1", Keys: []string{"name=rack1-7"}, Value: []byte("{}")}
	if _, err := store.Create(ctx, record); err != nil {
		panic(err)
	}
	var backup bytes.Buffer
	if err := store.Backup(ctx, &backup); err != nil {
		panic(err)
	}
	file := filepath.Join(dir, "fleet.backup")
	if err := os.WriteFile(file, backup.Bytes(), 0o600); err != nil { // private, since it has the passwords of the BMCs
		panic(err)
	}

	another := embedded.Config{Dir: filepath.Join(dir, "another")}
	if err := embedded.Restore(ctx, another, file); err != nil {
		panic(err)
	}
	restored, err := embedded.Open(ctx, another)
	if err != nil {
		panic(err)
	}
	defer restored.Close()
	got, err := restored.Get(ctx, "nodes", "name=rack1-7")
	fmt.Println(got.ID, string(got.Value), err)
	// Output: 1 {} <nil>
}

// Join yields the live conductors, and Alive reports whether one is a member.
func Example_membership() {
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	store, err := embedded.Open(context.Background(), embedded.Config{Dir: dir})
	if err != nil {
		panic(err)
	}
	defer store.Close()
	members := store.Membership(etcd.DefaultTTL)
	for all, err := range members.Join(context.Background(), conductor.Member{ID: "1", Hostname: "alpha"}) {
		if err != nil {
			panic(err)
		}
		alive, err := members.Alive(context.Background(), "1")
		fmt.Println(len(all), all[0].Hostname, alive, err)
		break // and leave
	}
	alive, err := members.Alive(context.Background(), "1")
	fmt.Println(alive, err)
	// Output:
	// 1 alpha true <nil>
	// false <nil>
}
