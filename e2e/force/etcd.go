// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/e2e/internal/etcdserver"
	"github.com/ironstate/ironstate/internal/freeport"
	"github.com/ironstate/ironstate/internal/sleep"
	"github.com/ironstate/ironstate/internal/try"
)

// Key prefixes of package conductor/etcd; see its documentation.
const (
	allKeys    = "/ironstate/v1/"
	recordKeys = allKeys + "records/" // followed by a kind, a slash and an ID
	memberKeys = allKeys + "members/"
)

// etcdServers is a store on three etcd servers, each a process.
type etcdServers struct{ *cluster }

func newEtcdServers(c *cluster) store { return etcdServers{c} }

// start implements [store]. There is a link from each server to each.
func (c etcdServers) start(ctx context.Context) {
	var members []string
	addresses := map[string]*address{}
	for _, name := range serverNames {
		members = append(members, fmt.Sprintf("%s=http://%s:2380", name, peerHost(name)))
		addresses[peerHost(name)] = &address{}
	}
	for _, name := range serverNames {
		proxy := &peers{links: map[string]*link{}, to: addresses}
		var links []*link
		for _, other := range serverNames {
			if other == name {
				links = append(links, nil)
				continue
			}
			l := newLink()
			links, proxy.links[peerHost(other)] = append(links, l), l
		}
		url := proxy.serve(c.network)
		config := etcdserver.Config{
			Name: name, Dir: filepath.Join(c.dir, name), Cluster: strings.Join(members, ","), Peer: "http://" + peerHost(name) + ":2380",
			LogLevel: "warn",
		}
		s := &serverProcess{&process{name: name, dir: c.dir, onExit: c.fail}, &address{}, addresses[peerHost(name)]}
		s.command = func() *exec.Cmd {
			command := etcdserver.Command(config)
			command.Env = append(command.Env, "HTTP_PROXY="+url, "NO_PROXY=", "no_proxy=") // to reach its peers
			return command
		}
		s.ready = func(line string) (bool, error) {
			var at etcdserver.Addresses
			err := json.Unmarshal([]byte(line), &at)
			s.clients.set(at.Clients)
			s.peers.set(at.Peers)
			return true, err
		}
		c.servers, c.toPeer = append(c.servers, s), append(c.toPeer, links)
	}
	try.OK(together(c.servers, func(s *serverProcess) error { return s.process.start(ctx) }))
}

// peerHost returns the host in a server's peer URL. Only the proxies resolve it.
func peerHost(name string) string { return name + ".peers.invalid" }

// flags implements [store]. There is a link from the conductor to each server.
func (c etcdServers) flags(string) []string {
	links := c.newLinks()
	c.toServer = append(c.toServer, links)
	return []string{"-etcd", strings.Join(c.endpoints(links), ",")}
}

// dial implements [store].
func (c etcdServers) dial() storeLog { return dialEtcd(c.endpoints(c.newLinks())) }

// endpoints returns URLs that lead to the servers through the links, one link per server.
func (c etcdServers) endpoints(links []*link) (urls []string) {
	for i, s := range c.servers {
		urls = append(urls, "http://"+c.network.forward(links[i], s.clients))
	}
	return urls
}

// newLinks returns a link to each server.
func (c etcdServers) newLinks() []*link {
	links := make([]*link, len(c.servers))
	for i := range links {
		links[i] = newLink()
	}
	return links
}

// embeddedEtcd is a store on the etcd servers embedded in the conductors.
type embeddedEtcd struct {
	*cluster
	peers string   // the value of -cluster
	urls  []string // of the servers
}

func newEmbeddedEtcd(c *cluster) store { return &embeddedEtcd{cluster: c} }

// start implements [store]. It finds the addresses of the servers, which start with their conductors.
func (c *embeddedEtcd) start(context.Context) {
	var peers []string
	for i, address := range try.Get(freeport.Addresses(len(conductorNames))) {
		peers = append(peers, conductorNames[i]+"=http://"+address)
	}
	c.peers = strings.Join(peers, ",")
}

// flags implements [store].
func (c *embeddedEtcd) flags(name string) []string {
	url := "http://" + try.Get(freeport.Addresses(1))[0]
	c.urls = append(c.urls, url)
	return []string{"-cluster", c.peers, "-cluster-client", url, "-data", filepath.Join(c.dir, "data-"+name)}
}

// dial implements [store].
func (c *embeddedEtcd) dial() storeLog { return dialEtcd(c.urls) }

// dialEtcd connects to the log of etcd servers.
func dialEtcd(urls []string) storeLog {
	return etcdLog{try.Get(clientv3.New(clientv3.Config{
		Endpoints: urls, Logger: zap.NewNop(), DialKeepAliveTime: 10 * time.Second, DialKeepAliveTimeout: 3 * time.Second,
		DialOptions: []grpc.DialOption{grpc.WithConnectParams(grpc.ConnectParams{
			Backoff: backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.5, MaxDelay: time.Second}, MinConnectTimeout: 3 * time.Second,
		})},
	}))}
}

// etcdLog is the log of etcd servers.
type etcdLog struct{ *clientv3.Client }

// compactEvery is the interval at which etcd drops the versions that were read, which
// keeps its database small. A conductor whose watch was interrupted then reads all nodes again.
const compactEvery = 5 * time.Second

// follow implements [storeLog].
func (l etcdLog) follow(ctx context.Context, take func([]write) error) error {
	next, compacted := int64(1), time.Now()
	for ctx.Err() == nil {
		for answer := range l.Watch(clientv3.WithRequireLeader(ctx), allKeys, clientv3.WithPrefix(), clientv3.WithRev(next)) {
			if answer.CompactRevision > 0 {
				return fmt.Errorf("revision %d was compacted before it was read", next)
			}
			if answer.Err() != nil {
				break
			}
			var writes []write
			for _, event := range answer.Events {
				writes = append(writes, decodeWrite(event))
				next = event.Kv.ModRevision + 1
			}
			if err := take(writes); err != nil {
				return err
			}
			if time.Since(compacted) > compactEvery {
				compacted = time.Now()
				go func(revision int64) {
					ctx, cancel := context.WithTimeout(ctx, compactEvery)
					defer cancel()
					_, _ = l.Compact(ctx, revision) // after a failure the next compaction suffices
				}(next - 1)
			}
		}
		sleep.For(ctx, 100*time.Millisecond)
	}
	return nil
}

// decodeWrite decodes the change of a key as package conductor/etcd writes it.
func decodeWrite(event *clientv3.Event) write {
	w := write{revision: event.Kv.ModRevision}
	key, value := string(event.Kv.Key), event.Kv.Value
	if id, ok := strings.CutPrefix(key, memberKeys); ok {
		w.kind, w.id = members, id
	}
	if path, ok := strings.CutPrefix(key, recordKeys); ok {
		kind, id, _ := strings.Cut(path, "/")
		w.kind, w.id = conductor.Kind(kind), id
		_, value, _ = bytes.Cut(value, []byte{'\n'})
	}
	if event.Type != clientv3.EventTypeDelete {
		w.value = value
	}
	return w
}

// last implements [storeLog].
func (l etcdLog) last(ctx context.Context) (int64, error) {
	answer, err := l.Get(ctx, allKeys, append(clientv3.WithLastRev(), clientv3.WithPrefix())...)
	if err == nil && len(answer.Kvs) == 0 {
		err = errors.New("etcd has no key")
	}
	if err != nil {
		return 0, err
	}
	return answer.Kvs[0].ModRevision, nil
}
