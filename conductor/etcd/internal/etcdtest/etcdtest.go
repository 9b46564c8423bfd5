// SPDX-License-Identifier: Apache-2.0

// Package etcdtest starts etcd servers and other child processes for the tests of package etcd and
// its subpackages. It imports neither of them: each opens its stores itself.
package etcdtest

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/goleak"
	"go.uber.org/zap"

	"github.com/ironstate/ironstate/internal/freeport"
	"github.com/ironstate/ironstate/internal/leaks"
	"github.com/ironstate/ironstate/internal/needs"
)

// roleVariable is the environment variable that makes a test binary run one of its roles instead of
// the tests. Tests start it as a child process.
const roleVariable = "IRONSTATE_TEST_ROLE"

// Main is the TestMain of a package whose child processes have these roles, and the role "server",
// which [StartCluster] starts.
func Main(m *testing.M, roles map[string]func(arg string) error) {
	role, arg, _ := strings.Cut(os.Getenv(roleVariable), " ")
	if role == "" {
		// The parallel tests mostly wait for elections and leases; -parallel overrides the number.
		// Tests that spawn a process are not parallel: until the child has executed its program, it
		// holds the file locks that this process releases.
		if err := flag.Set("test.parallel", "4"); err != nil {
			panic(err)
		}
		// An example cannot say that it needs a server. The flag -skip of the command line overrides this.
		if !needs.Asked(needs.Systems) {
			if err := flag.Set("test.skip", "^Example"); err != nil {
				panic(err)
			}
		}
		// The servers of a cluster leave idle connections to each other when they stop. These
		// end with the process, but the tests run several servers in one process.
		leaks.Main(m,
			goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"),
			goleak.IgnoreAnyFunction("net/http.(*conn).serve"), goleak.IgnoreAnyFunction("net/http.(*connReader).backgroundRead"))
		return
	}
	run := roles[role]
	if role == "server" {
		run = serve
	}
	if err := run(arg); err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
}

// Process is a child process that ends at the latest with the test.
type Process struct {
	*exec.Cmd
	Lines *bufio.Scanner // its standard output
}

// Spawn starts a role of this test binary, see [Main]. An argument that is not a text is encoded in JSON.
func Spawn(t *testing.T, role string, arg any) *Process {
	t.Helper()
	return SpawnWith(t, os.Stderr, role, arg)
}

// SpawnWith is Spawn with another standard error.
func SpawnWith(t *testing.T, stderr *os.File, role string, arg any) *Process {
	t.Helper()
	if !needs.Asked(needs.Search) { // whose tests have processes as well
		needs.Time(t)
	}
	p := Command(t, stderr, role, arg)
	require.NoError(t, p.Start())
	t.Cleanup(p.Kill)
	return p
}

// Command returns the process of a role before it is started.
func Command(t *testing.T, stderr *os.File, role string, arg any) *Process {
	t.Helper()
	text, ok := arg.(string)
	if !ok {
		encoded, err := json.Marshal(arg)
		require.NoError(t, err)
		text = string(encoded)
	}
	p := &Process{Cmd: exec.Command(os.Args[0])}
	p.Env = append(os.Environ(), roleVariable+"="+role+" "+text)
	p.Stderr = stderr
	out, err := p.StdoutPipe()
	require.NoError(t, err)
	p.Lines = bufio.NewScanner(out)
	// The child ends when its standard input is closed, at the latest when this process ends.
	_, err = p.StdinPipe()
	require.NoError(t, err)
	return p
}

// Kill is kill -9.
func (p *Process) Kill() {
	_ = p.Process.Kill()
	_ = p.Wait()
}

// Line returns the next line that the process prints.
func (p *Process) Line(t *testing.T) string {
	t.Helper()
	require.True(t, p.Lines.Scan(), "the process has ended")
	return p.Lines.Text()
}

// UntilParentEnds returns when the process that has spawned this one closes its standard input.
func UntilParentEnds() { _, _ = io.Copy(io.Discard, os.Stdin) }

// ServerConfig is the argument of the role "server".
type ServerConfig struct {
	Name, Dir, Cluster string
	Peer, Client       string // URLs
	CA, Cert, Key      string // files, for clients with TLS
}

// serve is the role "server": an etcd server of a cluster.
func serve(arg string) error {
	var c ServerConfig
	if err := json.Unmarshal([]byte(arg), &c); err != nil {
		return err
	}
	config := embed.NewConfig()
	config.Name, config.Dir, config.InitialCluster = c.Name, c.Dir, c.Cluster
	config.ListenPeerUrls, config.AdvertisePeerUrls = urls(c.Peer), urls(c.Peer)
	config.ListenClientUrls, config.AdvertiseClientUrls = urls(c.Client), urls(c.Client)
	config.TickMs, config.ElectionMs = 50, 500
	config.BcryptCost = 4
	config.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
	config.ClientTLSInfo.TrustedCAFile, config.ClientTLSInfo.CertFile, config.ClientTLSInfo.KeyFile = c.CA, c.Cert, c.Key
	config.ClientTLSInfo.ClientCertAuth = c.CA != ""
	server, err := embed.StartEtcd(config)
	if err != nil {
		return err
	}
	<-server.Server.ReadyNotify()
	fmt.Println("ready")
	UntilParentEnds()
	return nil
}

// Loopback returns a loopback address with a free port.
func Loopback(t *testing.T) string {
	t.Helper()
	free, err := freeport.Addresses(1)
	require.NoError(t, err)
	return free[0]
}

func urls(text string) []url.URL {
	u, err := url.Parse(text)
	if err != nil {
		panic(err)
	}
	return []url.URL{*u}
}

// Member is an etcd server in a separate process.
type Member struct {
	ServerConfig
	*Process
}

// Start does not wait until the member is ready: that needs a quorum of started members.
func (m *Member) Start(t *testing.T) {
	t.Helper()
	m.Process = Spawn(t, "server", m.ServerConfig)
}

// Ready waits until the member serves clients.
func (m *Member) Ready(t *testing.T) {
	t.Helper()
	require.Equal(t, "ready", m.Line(t))
}

// StartCluster starts n servers. It calls set, if not nil, with the configuration of each.
func StartCluster(t *testing.T, n int, set func(*ServerConfig)) []*Member {
	t.Helper()
	needs.Time(t)
	members := make([]*Member, n)
	var names []string
	for i := range members {
		c := ServerConfig{
			Name:   fmt.Sprintf("etcd-%d", i),
			Dir:    t.TempDir(),
			Peer:   "http://" + Loopback(t),
			Client: "http://" + Loopback(t),
		}
		if set != nil {
			set(&c)
		}
		members[i] = &Member{ServerConfig: c}
		names = append(names, c.Name+"="+c.Peer)
	}
	for _, m := range members {
		m.Cluster = strings.Join(names, ",")
		m.Start(t)
	}
	for _, m := range members {
		m.Ready(t)
	}
	return members
}
