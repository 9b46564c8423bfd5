// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"cmp"
	"log/slog"
	"time"

	"github.com/ironstate/ironstate/conductor/etcd/internal/keyprefix"
	"github.com/ironstate/ironstate/machine"
)

// Config configures a store on a server in this process, which is single or one of a Cluster.
type Config struct {
	// Dir is the folder of the server, which listens on no port and no socket unless Cluster is
	// set. A missing folder is created. One process at a time can have it open.
	Dir string
	// Quota bounds the size of the database in Dir, in bytes; 0 stands for 8 GiB, the maximum
	// that etcd recommends.
	Quota int64
	// Reserve is the free space of Dir's file system, in bytes, below which all servers refuse writes with
	// [etcd.ErrNoSpace]; reads and deletions continue. It is read ten times a second. Writes continue by themselves when
	// there is a quarter more. 0 stands for 256 MiB. etcd ends the process if it cannot write. On Linux the next
	// 64 MiB of the database, the next file of the log and a ballast of 64 MiB are therefore allocated before.
	Reserve int64
	// Cluster makes the server one of a cluster. Each process has its own server and its own Dir.
	Cluster Cluster
	// Prefix is the prefix of all keys; empty stands for "/ironstate". Fleets with different
	// prefixes can be in one folder without affecting each other.
	Prefix string
	// Log receives the server's log, and etcd's with its levels info and warn as Debug; nil discards both.
	Log *slog.Logger

	maintainEvery time.Duration // between two checks of the size of the database; tests set less than a minute
}

const (
	defaultQuota = 8 << 30
	// DefaultReserve is the Reserve of a Config that sets none.
	DefaultReserve = 256 << 20
)

// Check returns the error with which Open and Restore refuse the configuration before they read anything: a
// [*machine.ConfigError], with fields such as "Dir" and "Cluster.Peers".
func (c Config) Check() error {
	switch {
	case c.Dir == "":
		return &machine.ConfigError{Package: "embedded", Field: "Dir", Value: c.Dir, Want: "a folder: each server needs one"}
	case c.Quota < 0:
		return &machine.ConfigError{Package: "embedded", Field: "Quota", Value: c.Quota, Want: "0 or more"}
	case c.Reserve < 0:
		return &machine.ConfigError{Package: "embedded", Field: "Reserve", Value: c.Reserve, Want: "0 or more"}
	}
	return cmp.Or(keyprefix.Check("embedded", c.Prefix), c.Cluster.check())
}

// complete returns the configuration with its defaults, or an error if it is invalid.
func (c Config) complete() (Config, error) {
	if err := c.Check(); err != nil {
		return c, err
	}
	if c.Quota == 0 {
		c.Quota = defaultQuota
	}
	if c.Reserve == 0 {
		c.Reserve = DefaultReserve
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.maintainEvery == 0 {
		c.maintainEvery = time.Minute
	}
	return c, nil
}
