// SPDX-License-Identifier: Apache-2.0

// Package embedded stores a fleet's records in an etcd server in the process: the store of package
// etcd without another program to run. The data is in a folder, and no port is open:
//
//	store, err := embedded.Open(ctx, embedded.Config{Dir: "/var/lib/ironstate"})
//	...
//	defer store.Close()
//	c, err := conductor.New(conductor.Config{Store: store, Hardware: hardware})
//
// With a [Cluster] in the configuration, several processes have a server each, and their conductors share
// the nodes:
//
//	store, err := embedded.Open(ctx, embedded.Config{
//		Dir: "/var/lib/ironstate",
//		Cluster: embedded.Cluster{
//			Name: "alpha",
//			Peers: map[string]string{
//				"alpha": "https://10.0.0.1:2380", "beta": "https://10.0.0.2:2380", "gamma": "https://10.0.0.3:2380",
//			},
//			Cert: "alpha.pem", Key: "alpha.key", CA: "ca.pem",
//		},
//	})
//	...
//	c, err := conductor.New(conductor.Config{Store: store, Membership: store.Membership(0), Hardware: hardware})
//
// A server compacts and defragments its database itself. It raises the alarm NOSPACE when its file system has less
// free space than [Config.Reserve], so that all servers refuse writes, and disarms it when there is space again.
//
// [Open] checks the database before etcd reads it: a damaged folder is an error, not a panic. The check reads all
// pages in use, 1.5 s for 600 MB in the page cache. It does not find changed bytes in the value of a record,
// since etcd stores no checksums of them.
//
// # Servers in several processes
//
// [Open] returns once a quorum of the servers of a [Cluster] runs, and the cluster serves requests
// while it has a quorum. Restart a killed process with the same configuration. The others refuse a
// server that has lost its folder, since it has lost its votes and its log. [Cluster.Replace]
// replaces it: restart one of the others with it, then start the lost one with an empty folder at
// its old URL. Servers cannot be added to or removed from a cluster.
//
// The servers reach each other by the proxy that HTTPS_PROXY names in the environment, as etcd's do, unless NO_PROXY
// has their hosts.
//
// # Backup and restore
//
// [etcd.Store.Backup] saves the database of a store in use, and [Restore] creates a folder from such
// a file, or from one that `etcdctl snapshot save` has written. To restore the servers of a
// [Cluster], stop all of them and restore the folder of each from the same backup. What a restored
// fleet means for machines that have changed since is described in package etcd.
package embedded
