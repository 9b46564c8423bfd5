// Package etcd keeps a fleet's records in etcd: in a folder, by a server inside this
// process that listens nowhere; by such servers in several processes, which form a
// cluster; or on a cluster that runs elsewhere. The code is the same. This is a [Store]
// in a folder, and a conductor on it:
//
//	store, err := etcd.Open(ctx, etcd.Config{Dir: "/var/lib/ironstate"})
//	...
//	defer store.Close()
//	c, err := conductor.New(conductor.Config{Store: store, Hardware: hardware})
//
// On a cluster, several conductors share the nodes, and tell by their [Membership] which
// of them are alive:
//
//	store, err := etcd.Open(ctx, etcd.Config{
//		Dir: "/var/lib/ironstate",
//		Cluster: etcd.Cluster{
//			Name: "alpha",
//			Peers: map[string]string{
//				"alpha": "https://10.0.0.1:2380", "beta": "https://10.0.0.2:2380", "gamma": "https://10.0.0.3:2380",
//			},
//			Cert: "alpha.pem", Key: "alpha.key", CA: "ca.pem",
//		},
//	})
//
//	store, err := etcd.Open(ctx, etcd.Config{
//		Endpoints: []string{"https://etcd-1:2379", "https://etcd-2:2379", "https://etcd-3:2379"},
//		TLS:       &tls.Config{RootCAs: ca, Certificates: []tls.Certificate{client}},
//	})
//	...
//	c, err := conductor.New(conductor.Config{Store: store, Membership: store.Membership(0), Hardware: hardware})
//
// # Keys
//
// All keys begin with a prefix, "/ironstate" if [Config] names no other, and "/v1":
//
//	/ironstate/v1/records/nodes/1be26c0b-03f2-4d2e-ae87-c02d7f33c123  the record
//	/ironstate/v1/keys/nodes/name=rack1-7                             the ID of the record that has this key
//	/ironstate/v1/members/b6a9f3e2-6a0e-4f0e-9b5c-3f3f0f4f2d11        a conductor that is alive
//
// The value of a record is a line of JSON with the version of the format and the
// record's keys, and then what the conductor has stored, for most kinds another JSON
// text:
//
//	$ etcdctl get --print-value-only /ironstate/v1/records/nodes/1be26c0b-03f2-4d2e-ae87-c02d7f33c123
//	{"format":1,"keys":["name=rack1-7"]}
//	{"version":1,"uuid":"1be26c0b-03f2-4d2e-ae87-c02d7f33c123","name":"rack1-7",...}
//	$ etcdctl get --print-value-only /ironstate/v1/keys/nodes/name=rack1-7
//	1be26c0b-03f2-4d2e-ae87-c02d7f33c123
//	$ etcdctl get --keys-only --prefix /ironstate/v1/records/nodes/
//
// Both lines have a version, "format" and "version". A release reads all that releases
// before it have written, and refuses a later version with an error.
//
// That of a member is the JSON of [conductor.Member]. The key is under a lease, and goes
// when the conductor leaves or does not renew the lease, see [Membership].
//
// A record's revision is etcd's mod_revision of its key. Each write is one transaction,
// which compares the revision and changes the record and its keys together.
// Writing with etcdctl is possible as well, and noticed by every watch; it should
// compare the mod_revision and keep the keys in step with the header.
//
// # What a cluster needs
//
// The history of keys has to be compacted, since every write adds to it:
//
//	etcd --auto-compaction-mode=periodic --auto-compaction-retention=5m --quota-backend-bytes=8589934592
//
// A watch that was cut off for longer than the retention reads all records once more.
// With authentication, a user's role needs to read and write below the prefix:
//
//	etcdctl role grant-permission ironstate --prefix=true readwrite /ironstate/v1/
//
// The free space of a database is given back by `etcdctl defrag`, to be run on one
// server after the other, since a server answers nobody meanwhile.
//
// When the database has reached its quota, etcd raises the alarm NOSPACE, which
// `etcdctl alarm list` and the metric etcd_server_quota_backend_bytes beside
// etcd_mvcc_db_total_size_in_bytes tell of. Then every write fails with [ErrNoSpace],
// but deletions. The way out:
//
//	revision=$(etcdctl endpoint status -w json | jq '.[0].Status.header.revision')
//	etcdctl compact "$revision"
//	etcdctl defrag --cluster
//	etcdctl alarm disarm
//
// A server in this process does all of this by itself.
//
// # Servers in several processes
//
// Open returns when more than half of the servers of a [Cluster] run, and they serve for
// as long as that is so. A process that was killed is started again as it was. One whose
// folder is lost is refused by the others, since it has forgotten its votes and its log.
// [Cluster.Replace] lets it begin anew: one of the others is restarted with it, and then
// the lost one with an empty folder, at its old URL. Servers cannot be added or taken away
// otherwise.
//
// # Backup and restore
//
// [Store.Backup] saves a folder or a cluster while it is in use, and [Restore] makes a
// folder from that. For a cluster etcd's own tools do the same, with the same files:
//
//	etcdctl snapshot save backup.db
//
// To restore the servers of [Config.Cluster], stop them all and make the folder of each
// from the one backup. To restore a cluster that runs elsewhere, stop every conductor and
// server, and make the files of each server anew from the one backup; then start the
// servers, and the conductors last:
//
//	etcdutl snapshot restore backup.db --data-dir /var/lib/etcd --name etcd-1 \
//		--initial-cluster etcd-1=https://etcd-1:2380,etcd-2=https://etcd-2:2380,etcd-3=https://etcd-3:2380 \
//		--initial-advertise-peer-urls https://etcd-1:2380
//
// The records are then as old as the backup. Work that was under way has failed, as that
// of a process that has died. The power sync, which may set the recorded power states, and
// clients do not know what has happened to the machines since: put nodes whose record may
// be too old into maintenance, or leave the power sync out ([conductor.Config.SkipPowerSync])
// until they were looked at.
//
// # Scale
//
// Measured by go run ./internal/bench/service -cluster 100000 on 2026-11-22, three
// conductors, one etcd server and the clients on two cores: a conductor starts in 1.8 to
// 3.5 s and has 580 MiB; a third of the nodes is worked on by the others 10 s after a
// conductor was killed, which is the lease; a round of the power sync takes each of the
// three 10 to 12 s, and one that is alone 42 s; 6,700 nodes are shown and 1,400 patched a
// second; all three are started again, one after the other, with no request that fails
// when it is made again.
//
// A model for 1,000,000 nodes and 30 conductors, on paper, by these figures. Every
// conductor has all records in memory, some 5 KiB a node: 5 GiB. It reads them in 20 to
// 35 s when it starts. Each has the power sync of 33,000 nodes, which is 10 s where the
// hardware answers at once, and where a BMC takes a second 330 s with 100 workers. A life of
// a node writes 11 records of 1 to 2 KiB; where each node has one a day that is 130 writes a
// second, of the 1,400 and more that one server took here, and every write goes to 30
// watches: 4,000 messages and 6 MB a second from etcd. Its database has 2 GB and the
// versions of five minutes, so that the quota is to be 8 GiB, which is the most that etcd
// recommends: beyond a million nodes a fleet is to be split by [Config.Prefix].
//
// # Reads
//
// A cluster's answers are linearizable: a read asks the leader first. A server that is
// alone is its own leader and answers a write once it has applied it, so that reads
// there need not ask.
package etcd
