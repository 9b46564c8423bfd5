// SPDX-License-Identifier: Apache-2.0

package postgres_test

import (
	"bufio"
	"context"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/e2e/internal/pgserver"
	"github.com/ironstate/ironstate/e2e/postgres"
	"github.com/ironstate/ironstate/internal/leaks"
	"github.com/ironstate/ironstate/internal/needs"
)

func TestMain(m *testing.M) { leaks.Main(m) }

// start starts a server until the test ends, and returns its address.
func start(t *testing.T) string {
	t.Helper()
	needs.Time(t)
	needs.Installed(t, pgserver.Programs() != "", "PostgreSQL")
	dir, err := os.MkdirTemp("", "postgres-") // which another user can reach, unlike the test's own
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	require.NoError(t, os.Chmod(dir, 0o711))
	s, err := pgserver.New(t.Context(), dir)
	require.NoError(t, err)
	command := s.Command()
	out, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	lines := bufio.NewScanner(out)
	var log strings.Builder
	for lines.Scan() && !strings.Contains(lines.Text(), pgserver.Ready) {
		log.WriteString(lines.Text() + "\n")
	}
	var reading sync.WaitGroup
	reading.Go(func() {
		for lines.Scan() {
			log.WriteString(lines.Text() + "\n")
		}
	})
	t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGINT) // ends all connections
		reading.Wait()
		_ = command.Wait()
		if t.Failed() {
			t.Log(log.String())
		}
	})
	return s.Address
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
	config, err := pgxpool.ParseConfig(pgserver.URL(address))
	require.NoError(t, err)
	config.ConnConfig.DialFunc = through.dial
	s, err := postgres.Open(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}
