// SPDX-License-Identifier: Apache-2.0

// Package pgserver runs PostgreSQL servers in temporary folders. It never uses the cluster of Debian's package.
package pgserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	"github.com/ironstate/ironstate/internal/freeport"
)

// Ready is in the line of a server's output that says that it accepts connections.
const Ready = "database system is ready to accept connections"

// Server is a PostgreSQL server that does not run yet.
type Server struct {
	Address string // host and port
	bin     string
	dir     string
	as      *syscall.Credential // nil for this process's user
}

// Programs returns the folder of the newest installed programs of PostgreSQL, or "".
func Programs() string {
	if initdb, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(initdb)
	}
	// Debian installs them where the PATH does not lead, one folder per version, and in the PATH a program of their
	// package.
	if _, err := exec.LookPath("pg_ctlcluster"); err != nil {
		return ""
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb") // the pattern is valid
	if len(found) == 0 {
		return ""
	}
	return filepath.Dir(slices.Max(found))
}

// New creates the files of a server in a new folder below dir. PostgreSQL refuses to run as root: root creates them for
// the user postgres of Debian's package, who must be able to reach dir.
func New(ctx context.Context, dir string) (*Server, error) {
	s := &Server{bin: Programs(), dir: filepath.Join(dir, "postgres")}
	if s.bin == "" {
		return nil, errors.New("PostgreSQL is not installed")
	}
	addresses, err := freeport.Addresses(1)
	if err != nil {
		return nil, err
	}
	s.Address = addresses[0]
	if err := os.Mkdir(s.dir, 0o700); err != nil {
		return nil, err
	}
	if os.Geteuid() == 0 {
		if err := s.belongTo("postgres"); err != nil {
			return nil, err
		}
	}
	initdb := exec.CommandContext(ctx, filepath.Join(s.bin, "initdb"),
		"-D", s.dir, "-U", "ironstate", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	initdb.Dir, initdb.SysProcAttr = s.dir, &syscall.SysProcAttr{Credential: s.as}
	if out, err := initdb.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w: %s", err, out)
	}
	return s, nil
}

// belongTo gives the folder to a user, as which the server then runs.
func (s *Server) belongTo(name string) error {
	u, err := user.Lookup(name)
	if err != nil {
		return err
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return err
	}
	s.as = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return os.Chown(s.dir, int(uid), int(gid))
}

// Command returns the command of the server, which prints its log. The server does not sync its files: they outlive the
// server, but not the machine.
func (s *Server) Command() *exec.Cmd {
	host, port, _ := net.SplitHostPort(s.Address) // of freeport
	c := exec.Command("/bin/sh", "-c", `exec "$0" "$@" 2>&1`, filepath.Join(s.bin, "postgres"), "-D", s.dir, "-h", host, "-p", port,
		"-c", "unix_socket_directories=", "-c", "fsync=off", "-c", "max_connections=200")
	c.Dir, c.SysProcAttr = s.dir, &syscall.SysProcAttr{Credential: s.as}
	return c
}

// URL returns the URL of the database at an address, the server's own or one that leads to it.
func URL(address string) string {
	return "postgres://ironstate@" + address + "/postgres?sslmode=disable"
}
