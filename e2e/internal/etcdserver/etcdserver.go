// SPDX-License-Identifier: Apache-2.0

// Package etcdserver runs etcd servers as processes of the program that imports it. The program calls [Main] first.
package etcdserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"

	"go.etcd.io/etcd/server/v3/embed"
)

// variable is the environment variable that makes the program an etcd server. Its value is a [Config] in JSON.
const variable = "E2E_ETCD_SERVER"

// Config is the configuration of a server, which listens on free ports.
type Config struct {
	Name, Dir string
	Cluster   string // all servers, as etcd's --initial-cluster
	Peer      string // the URL in Cluster by which the other servers know this one
	LogLevel  string
	Quota     int64  // of the database, in bytes; 0 stands for etcd's default
	Retention string // for which earlier versions are kept, such as "5m"; empty stands for ever
}

// Addresses are where clients and peers reach a server.
type Addresses struct{ Clients, Peers string }

// Command returns the command that runs this program as a server. The server prints its [Addresses] as a line of JSON
// once it listens.
func Command(c Config) *exec.Cmd {
	text, _ := json.Marshal(c) // of strings and a number
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), variable+"="+string(text))
	return command
}

// Main runs a server if [Command] has started the process, and reports whether it did so.
func Main() bool {
	text, ok := os.LookupEnv(variable)
	if !ok {
		return false
	}
	if err := serve(text); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return true
}

// serve runs a server until it fails.
func serve(text string) error {
	var c Config
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
	config.LogLevel, config.QuotaBackendBytes = c.LogLevel, c.Quota
	if c.Retention != "" {
		config.AutoCompactionMode, config.AutoCompactionRetention = embed.CompactorModePeriodic, c.Retention
	}
	server, err := embed.StartEtcd(config)
	if err != nil {
		return err
	}
	defer server.Close()
	at := Addresses{Clients: server.Clients[0].Addr().String(), Peers: server.Peers[0].Addr().String()}
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
