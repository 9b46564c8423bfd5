// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptrace"
	"slices"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver"
	"go.uber.org/zap"

	"github.com/ironstate/ironstate/internal/sleep"
)

const (
	peerTimeout = 2 * time.Second
	// replaceBackoff is the time between two attempts to add a server: etcd refuses until
	// the servers that remain have been connected for 5 s.
	replaceBackoff = 500 * time.Millisecond
)

// replace removes the server c.Replace from the cluster and adds it again under a new identity, so
// that it can start with an empty folder. It does not change a server that was added but has not
// started yet, so that an interrupted replace can be repeated.
func replace(ctx context.Context, client clientv3.Cluster, c Cluster) error {
	peer := c.Peers[c.Replace]
	listed, err := client.MemberList(ctx)
	if err != nil {
		return err
	}
	for _, m := range listed.Members {
		if !slices.Contains(m.PeerURLs, peer) {
			continue
		}
		if m.Name == "" {
			return nil
		}
		if err := c.requireDown(ctx, peer); err != nil {
			return err
		}
		if err := untilHealthy(ctx, func() error { _, err := client.MemberRemove(ctx, m.ID); return err }); err != nil {
			return fmt.Errorf("remove the server %s: %w", c.Replace, err)
		}
	}
	if err := untilHealthy(ctx, func() error { _, err := client.MemberAdd(ctx, []string{peer}); return err }); err != nil {
		return fmt.Errorf("add the server %s again: %w", c.Replace, err)
	}
	return nil
}

// untilHealthy retries a change of the members while etcd refuses it because too few of them are
// connected.
func untilHealthy(ctx context.Context, change func() error) error {
	for {
		err := change()
		if !errors.Is(err, rpctypes.ErrUnhealthy) || !sleep.For(ctx, replaceBackoff) {
			return err
		}
	}
}

// requireDown returns an error if a server accepts connections at a peer URL: a running server still has its folder,
// also if it answers late, or if its certificate has expired.
func (c Cluster) requireDown(ctx context.Context, peer string) error {
	client, err := c.peerClient()
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	var accepted atomic.Bool
	trace := &httptrace.ClientTrace{ // ConnectDone would also report a connection to a proxy
		TLSHandshakeStart: func() { accepted.Store(true) },
		GotConn:           func(httptrace.GotConnInfo) { accepted.Store(true) },
	}
	request, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, trace), http.MethodGet, peer+"/members", nil)
	if err != nil {
		return err
	}
	answer, err := client.Do(request)
	switch {
	case err == nil:
		_ = answer.Body.Close()
	case ctx.Err() != nil || !accepted.Load():
		return ctx.Err()
	}
	return fmt.Errorf("a server accepts connections at %s, so that %s cannot be replaced: stop it first", peer, c.Replace)
}

// clusterState returns etcd's initial cluster state for a server with an empty folder: "existing"
// if the other servers have it as a member that has not started yet, as after a replacement;
// otherwise "new".
func (c Cluster) clusterState(log *zap.Logger) (string, error) {
	self := c.Peers[c.Name]
	others := maps.Clone(c.Peers)
	delete(others, c.Name)
	client, err := c.peerClient()
	if err != nil {
		return "", err
	}
	defer client.CloseIdleConnections()
	known, err := etcdserver.GetClusterFromRemotePeers(log, slices.Sorted(maps.Values(others)), client.Transport)
	if err != nil { // no other server responds yet
		return embed.ClusterStateFlagNew, nil
	}
	for _, m := range known.Members() {
		if slices.Contains(m.PeerURLs, self) && !m.IsStarted() {
			return embed.ClusterStateFlagExisting, nil
		}
	}
	return embed.ClusterStateFlagNew, nil
}

// peerClient returns a client that the servers accept as one of them.
func (c Cluster) peerClient() (*http.Client, error) {
	t, err := transport.NewTransport(c.tlsInfo(), peerTimeout)
	if err != nil {
		return nil, err
	}
	return &http.Client{Transport: t, Timeout: peerTimeout}, nil
}

// tlsInfo returns the files with which the servers authenticate each other, empty for http.
func (c Cluster) tlsInfo() transport.TLSInfo {
	if c.Cert == "" {
		return transport.TLSInfo{}
	}
	return transport.TLSInfo{CertFile: c.Cert, KeyFile: c.Key, TrustedCAFile: c.CA, ClientCertAuth: true}
}
