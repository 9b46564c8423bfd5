// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/ironstate/ironstate/e2e/internal/etcdserver"
	"github.com/ironstate/ironstate/internal/try"
)

// startEtcd starts an etcd server and returns its URL once it listens. It is a separate process, so that its memory and
// time do not count as the conductor's.
func startEtcd(ctx context.Context, dir string) (client string, stop func()) {
	server := etcdserver.Command(etcdserver.Config{
		Name: "etcd", Dir: filepath.Join(dir, "etcd"), Cluster: "etcd=http://peer.invalid:2380", Peer: "http://peer.invalid:2380",
		LogLevel: "error", Quota: 8 << 30, Retention: "5m",
	})
	var log strings.Builder
	server.Stderr = &log
	server.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out := try.Get(server.StdoutPipe())
	try.OK(server.Start())
	stop = func() {
		_ = server.Process.Kill() // its data are not used again
		_ = server.Wait()
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = server.Process.Kill() })()
	var at etcdserver.Addresses
	line, _ := bufio.NewReader(out).ReadBytes('\n') // an incomplete line is no JSON
	if err := json.Unmarshal(line, &at); err != nil {
		stop()
		try.Failf("etcd is not ready: %w: %s", err, log.String())
	}
	return "http://" + at.Clients, stop
}
