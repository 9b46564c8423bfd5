// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"go.etcd.io/etcd/server/v3/embed"

	"github.com/ironstate/ironstate/internal/freeport"
	"github.com/ironstate/ironstate/internal/sleep"
	"github.com/ironstate/ironstate/internal/try"
)

// etcdCommand is the argument that makes this program an etcd server. The next arguments
// are the folder and the URLs for clients and for peers. The server is a separate
// process, so that its memory and time do not count as the conductor's.
const etcdCommand = "etcd"

// runEtcd runs an etcd server until the context ends.
func runEtcd(ctx context.Context, args []string, _, _ io.Writer) error {
	config := embed.NewConfig()
	config.Dir, config.LogLevel = args[1], "error"
	config.QuotaBackendBytes = 8 << 30
	config.AutoCompactionMode, config.AutoCompactionRetention = embed.CompactorModePeriodic, "5m"
	client, err := url.Parse(args[2])
	if err != nil {
		return err
	}
	peer, err := url.Parse(args[3])
	if err != nil {
		return err
	}
	config.ListenClientUrls, config.AdvertiseClientUrls = []url.URL{*client}, []url.URL{*client}
	config.ListenPeerUrls, config.AdvertisePeerUrls = []url.URL{*peer}, []url.URL{*peer}
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	server, err := embed.StartEtcd(config)
	if err != nil {
		return err
	}
	defer server.Close()
	select {
	case <-ctx.Done():
		return nil
	case err := <-server.Err():
		return err
	}
}

// startEtcd starts an etcd server, waits until it serves, and returns its URL.
func startEtcd(ctx context.Context, dir string) (client string, stop func()) {
	free := try.Get(freeport.Addresses(2))
	client, peer := "http://"+free[0], "http://"+free[1]
	var log strings.Builder
	server := exec.Command(try.Get(os.Executable()), etcdCommand, filepath.Join(dir, "etcd"), client, peer)
	server.Stderr = &log
	server.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	try.OK(server.Start())
	stop = func() {
		_ = server.Process.Kill() // its data are not used again
		_ = server.Wait()
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, client+"/health", nil)
		if err == nil {
			var response *http.Response
			if response, err = http.DefaultClient.Do(request); err == nil {
				response.Body.Close()
				if response.StatusCode == http.StatusOK {
					return client, stop
				}
			}
		}
		if !sleep.For(ctx, 50*time.Millisecond) {
			stop()
			try.Failf("etcd is not ready: %w: %s", err, log.String())
		}
	}
}
