// SPDX-License-Identifier: Apache-2.0

// Package etcd stores a fleet's records in an etcd cluster, as a client. Package embedded has a
// server in the process, alone in a folder or one of a cluster, for the same store:
//
//	store, err := etcd.Open(ctx, etcd.Config{
//		Endpoints: []string{"https://etcd-1:2379", "https://etcd-2:2379", "https://etcd-3:2379"},
//		TLS:       &tls.Config{RootCAs: ca, Certificates: []tls.Certificate{client}},
//	})
//	...
//	defer store.Close()
//
// Several conductors can share the nodes of a [Store]. Their [Membership] reports which of them are
// alive:
//
//	c, err := conductor.New(conductor.Config{Store: store, Membership: store.Membership(0), Hardware: hardware})
//
// # Keys
//
// All keys begin with the prefix in [Config], by default "/ironstate", and "/v1":
//
//	/ironstate/v1/records/nodes/1be26c0b-03f2-4d2e-ae87-c02d7f33c123  the record
//	/ironstate/v1/keys/nodes/name=rack1-7                             the ID of the record with this key
//	/ironstate/v1/members/b6a9f3e2-6a0e-4f0e-9b5c-3f3f0f4f2d11        a conductor that is alive
//	/ironstate/v1/names/rack1-conductor                               the ID of the member with this name
//
// The value of a record is a line of JSON with the version of the format and the record's keys,
// followed by the value that the conductor has stored, which is another line of JSON:
//
//	$ etcdctl get --print-value-only /ironstate/v1/records/nodes/1be26c0b-03f2-4d2e-ae87-c02d7f33c123
//	{"format":1,"keys":["name=rack1-7"]}
//	{"version":2,"uuid":"1be26c0b-03f2-4d2e-ae87-c02d7f33c123","name":"rack1-7",...}
//	$ etcdctl get --print-value-only /ironstate/v1/keys/nodes/name=rack1-7
//	1be26c0b-03f2-4d2e-ae87-c02d7f33c123
//	$ etcdctl get --keys-only --prefix /ironstate/v1/records/nodes/
//
// Both lines have a version, "format" and "version". A release reads all versions that earlier
// releases have written, and refuses later versions with an error.
//
// The value of a member is the JSON of [conductor.Member]. Its key and the key of its name are attached to a lease, and
// are deleted when the conductor leaves or does not renew the lease, see [Membership].
//
// A record's revision is etcd's mod_revision of its key. Each write is one transaction that
// compares the revision and changes the record and its keys together. Writes with etcdctl are
// possible, and every watch sees them; they should compare the mod_revision and keep the keys
// consistent with the header.
//
// # Requirements for a cluster
//
// An etcd cluster at [Config.Endpoints] must compact the history of keys, since every write adds to
// it:
//
//	etcd --auto-compaction-mode=periodic --auto-compaction-retention=5m --quota-backend-bytes=8589934592
//
// After an interruption that is longer than the retention a conductor reads all records again. With
// authentication, the user's role must be allowed to read and write below the prefix:
//
//	etcdctl role grant-permission ironstate --prefix=true readwrite /ironstate/v1/
//
// `etcdctl defrag` returns the free space of a database to the file system. Run it on one server
// after the other, since a server does not respond to requests until it has ended.
//
// A read waits while the servers change their leader, until its context ends. A write that fails then may have been
// done: the API then answers 500, or 504 if the time of the write has ended, which Ironic's clients do not repeat by
// themselves. Read the record before you repeat the request. Without a majority all requests but a backup fail at once
// with [ErrNoMajority], which [Store.Health] reports.
//
// When the database reaches its quota, etcd raises the alarm NOSPACE, which `etcdctl alarm list`
// shows; the metrics etcd_server_quota_backend_bytes and etcd_mvcc_db_total_size_in_bytes predict
// it. Every write except a deletion then fails with [ErrNoSpace]. To recover:
//
//	revision=$(etcdctl endpoint status -w json | jq '.[0].Status.header.revision')
//	etcdctl compact "$revision"
//	etcdctl defrag --cluster
//	etcdctl alarm disarm
//
// # Backup and restore
//
// [Store.Backup] saves the database of a store in use. etcd's own tools write and read the same
// files, and Restore of package embedded reads them:
//
//	etcdctl snapshot save backup.db
//
// To restore a cluster, stop all conductors and servers, restore the files of
// each server from the same backup, start the servers, and start the conductors last:
//
//	etcdutl snapshot restore backup.db --data-dir /var/lib/etcd --name etcd-1 \
//		--initial-cluster etcd-1=https://etcd-1:2380,etcd-2=https://etcd-2:2380,etcd-3=https://etcd-3:2380 \
//		--initial-advertise-peer-urls https://etcd-1:2380
//
// The records are then as old as the backup. Work that was in flight has failed, as the work of a
// process that has died. The machines may have changed since the backup, and the power sync may set
// them to the recorded power states. Put nodes whose record may be out of date into maintenance, or
// disable the power sync ([conductor.Config.SkipPowerSync]) until the nodes have been checked.
//
// # Scale
//
// These figures are for 100,000 nodes, three conductors, one etcd server and the clients on two
// cores, measured with go run ./e2e/bench/service -cluster 100000 on 2026-11-22. A conductor
// starts in 1.8 to 3.5 s and needs 580 MiB. When one conductor is killed, the others work on its
// third of the nodes after 10 s, which is the lease. A round of the power sync takes 10 to 12 s in
// each of three conductors, and 42 s in a single one. The API serves 6,700 GETs of a node a second,
// or 1,400 PATCHes. During a restart of all three, one after the other, every failed request
// succeeds when it is retried.
//
// This model for 1,000,000 nodes and 30 conductors is an estimate from these figures. Every
// conductor holds all records in memory: 5 GiB, at about 5 KiB a node. It reads them in 20 to 35 s
// when it starts. Its power sync has 33,000 nodes: a round takes 10 s if the hardware responds at
// once, and 330 s with 100 workers if a BMC takes a second. The life of a node writes 11 records of
// 1 to 2 KiB. One life per node and day is 130 writes a second; the single server above accepted at
// least 1,400. Every write goes to 30 watches: 4,000 messages and 6 MB a second from etcd. The
// database has 2 GB and the versions of five minutes, so the quota should be 8 GiB, the maximum that
// etcd recommends. Split a larger fleet by [Config.Prefix].
//
// # Reads
//
// Reads from a cluster are linearizable: they contact the leader first. A single server is its own
// leader and acknowledges a write after it has applied the write, so its reads contact no other
// server.
package etcd
