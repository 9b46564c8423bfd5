// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"

	"go.etcd.io/etcd/server/v3/embed"
)

// serverVariable is the environment variable that makes this program an etcd server. Its
// value is a [serverConfig] in JSON.
const serverVariable = "FORCE_ETCD_SERVER"

// serverConfig is the configuration of an etcd server of the run.
type serverConfig struct {
	Name, Dir, Cluster, Peer string
}

// serverAddresses is the line of JSON that a server prints once it serves: where clients and peers reach it.
type serverAddresses struct{ Clients, Peers string }

// serverMain runs an etcd server if serverVariable is set, and reports whether it did so.
func serverMain() bool {
	text, ok := os.LookupEnv(serverVariable)
	if !ok {
		return false
	}
	if err := serveEtcd(text); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return true
}

// serveEtcd runs an etcd server on free ports and prints its addresses.
func serveEtcd(text string) error {
	var c serverConfig
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return err
	}
	peer, err := url.Parse(c.Peer)
	if err != nil {
		return err
	}
	anywhere := url.URL{Scheme: "http", Host: "127.0.0.1:0"}
	config := embed.NewConfig()
	config.Name, config.Dir = c.Name, c.Dir
	config.InitialCluster = c.Cluster
	config.AdvertisePeerUrls = []url.URL{*peer}
	config.ListenPeerUrls, config.ListenClientUrls = []url.URL{anywhere}, []url.URL{anywhere}
	config.AdvertiseClientUrls = []url.URL{anywhere}
	config.EnableGRPCGateway = false
	config.LogLevel = "warn"
	server, err := embed.StartEtcd(config)
	if err != nil {
		return err
	}
	defer server.Close()
	at := serverAddresses{Clients: server.Clients[0].Addr().String(), Peers: server.Peers[0].Addr().String()}
	if err := json.NewEncoder(os.Stdout).Encode(at); err != nil {
		return err
	}
	select {
	case err := <-server.Err():
		return err
	case <-server.Server.StopNotify():
		return errors.New("the server has stopped")
	}
}

// peerHost returns the host in a server's peer URL. Only the proxies resolve it.
func peerHost(name string) string { return name + ".peers.invalid" }

// serverCommand returns the command that runs this program as an etcd server, which
// reaches its peers through the proxy.
func serverCommand(c serverConfig, proxy string) *exec.Cmd {
	text, _ := json.Marshal(c) // of strings
	command := exec.Command(os.Args[0])
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(strings.ToUpper(variable), "="); name != "NO_PROXY" && name != "HTTP_PROXY" {
			command.Env = append(command.Env, variable)
		}
	}
	command.Env = append(command.Env, serverVariable+"="+string(text), "HTTP_PROXY="+proxy)
	return command
}
