// SPDX-License-Identifier: Apache-2.0

package postgres_test

import (
	"bufio"
	"context"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/e2e/postgres"
	"github.com/ironstate/ironstate/internal/freeport"
	"github.com/ironstate/ironstate/internal/leaks"
	"github.com/ironstate/ironstate/internal/needs"
)

func TestMain(m *testing.M) { leaks.Main(m) }

// programs returns the folder of the newest installed programs of PostgreSQL, or "".
func programs() string {
	if initdb, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(initdb)
	}
	// Debian installs them where the PATH does not lead, one folder per version, and in the PATH a program of their
	// package.
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb") // the pattern is valid
	if _, err := exec.LookPath("pg_ctlcluster"); err != nil || len(found) == 0 {
		return ""
	}
	return filepath.Dir(slices.Max(found))
}

// start starts a server of its own until the test ends, never the cluster of Debian's package, and returns its address.
// PostgreSQL refuses to run as root: root runs it as the user postgres of Debian's package.
func start(t *testing.T) string {
	t.Helper()
	needs.Time(t)
	needs.Installed(t, programs() != "", "PostgreSQL")
	dir, err := os.MkdirTemp("", "postgres-") // which another user can reach, unlike the test's own
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	var as *syscall.Credential
	if os.Geteuid() == 0 {
		as = credential(t, "postgres")
		require.NoError(t, os.Chown(dir, int(as.Uid), int(as.Gid)))
	}
	run := func(name string, args ...string) *exec.Cmd {
		in := []string{"-c", `exec "$0" "$@" 2>&1`, filepath.Join(programs(), name), "-D", filepath.Join(dir, "data")}
		c := exec.Command("/bin/sh", append(in, args...)...)
		c.Dir, c.SysProcAttr = dir, &syscall.SysProcAttr{Credential: as}
		return c
	}
	log, err := run("initdb", "-U", "ironstate", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync").Output()
	require.NoError(t, err, string(log))
	addresses, err := freeport.Addresses(1)
	require.NoError(t, err)
	host, port, err := net.SplitHostPort(addresses[0])
	require.NoError(t, err)
	// The server does not sync its files: they outlive the server, but not the machine.
	server := run("postgres", "-h", host, "-p", port, "-c", "unix_socket_directories=", "-c", "fsync=off", "-c", "max_connections=200")
	out, err := server.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, server.Start())
	lines := bufio.NewScanner(out)
	for lines.Scan() && !strings.Contains(lines.Text(), "database system is ready to accept connections") {
		log = append(log, lines.Text()+"\n"...)
	}
	var reading sync.WaitGroup
	reading.Go(func() {
		for lines.Scan() {
			log = append(log, lines.Text()+"\n"...)
		}
	})
	t.Cleanup(func() {
		_ = server.Process.Signal(syscall.SIGINT) // ends all connections
		reading.Wait()
		_ = server.Wait()
		if t.Failed() {
			t.Log(string(log))
		}
	})
	return addresses[0]
}

// credential returns the identity of a user, as which a program can run.
func credential(t *testing.T, name string) *syscall.Credential {
	u, err := user.Lookup(name)
	require.NoError(t, err)
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	require.NoError(t, err)
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	require.NoError(t, err)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

// url returns the URL of the database at an address, the server's own or one that leads to it.
func url(address string) string {
	return "postgres://ironstate@" + address + "/postgres?sslmode=disable"
}

// connection opens connections that can be cut.
type connection struct {
	down atomic.Bool
	mu   sync.Mutex
	all  []net.Conn
}

func (c *connection) dial(ctx context.Context, network, address string) (net.Conn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.down.Load() {
		return nil, syscall.ECONNREFUSED
	}
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err == nil {
		c.all = append(c.all, conn)
	}
	return conn, err
}

// cut closes all connections and refuses new ones until it is called with false.
func (c *connection) cut(down bool) {
	c.down.Store(down)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.all {
		_ = conn.Close()
	}
	c.all = nil
}

// open opens a store until the test ends.
func open(t *testing.T, address string, through *connection) *postgres.Store {
	t.Helper()
	config, err := pgxpool.ParseConfig(url(address))
	require.NoError(t, err)
	config.ConnConfig.DialFunc = through.dial
	s, err := postgres.Open(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}
