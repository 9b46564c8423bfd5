// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ironstate/ironstate/conductor/internal/workerpool"
	"github.com/ironstate/ironstate/internal/abandoned"
)

// FilePublisher is a [Hardware] that publishes files for machines from this process, such as the images that they boot.
// It withdraws them itself when their use ends in this process. At each check the conductor withdraws those that are
// left: another conductor has taken the node over and has ended its work, this process has died before, or the node was
// deleted. Files may contain secrets. A call that does not return within a minute is abandoned: work may begin on its
// node, and the hardware type is asked again only when the call has returned.
type FilePublisher interface {
	// Published returns the UUIDs of the nodes for which files are published.
	Published() ([]string, error)
	// KeepsFiles reports whether the node's machine may load its files although no work is on the node. An example is
	// an instance that is a ramdisk.
	KeepsFiles(n *Node) bool
	// Withdraw removes the files of a node, which need not exist.
	Withdraw(node string) error
}

// fileWithdrawer withdraws the files that this process has published and no machine needs. One check runs at a time,
// and it asks one hardware type after another, because they may share their files.
type fileWithdrawer struct {
	config   *Config
	fleet    *fleet
	sessions *sessions
	pool     *workerpool.Pool

	running sync.Mutex
	// abandoned has the calls of hardware types, by name, that do not return.
	abandoned abandoned.Calls[string]
}

// check begins a check, unless one runs. A hardware type that panics or hangs holds up no other check; it is asked
// again by the first check after its call has returned.
func (w *fileWithdrawer) check() {
	s, err := w.sessions.current()
	if err != nil || !w.fleet.nodes.Synced() || !w.running.TryLock() {
		return
	}
	s.run.group.Go(func() {
		defer w.running.Unlock()
		ctx, cancel := context.WithCancel(s.ctx)
		defer cancel()
		defer context.AfterFunc(s.run.ctx, cancel)() // Run waits for this goroutine
		for _, name := range slices.Sorted(maps.Keys(w.config.Hardware)) {
			publisher, ok := w.config.Hardware[name].(FilePublisher)
			if !ok || w.abandoned.Left(name) != nil {
				continue
			}
			err := w.withdrawUnneeded(ctx, name, publisher)
			if ctx.Err() != nil {
				return
			}
			if err != nil {
				w.config.Log.Warn("published files could not be withdrawn", "driver", name, "error", err)
			}
		}
	})
}

// withdrawTimeout bounds a call of a FilePublisher.
const withdrawTimeout = time.Minute

// withdrawUnneeded withdraws the files of a hardware type that no machine needs. While a node has a worker, its files
// stay until a later check. A call that does not return in time is the last one.
func (w *fileWithdrawer) withdrawUnneeded(ctx context.Context, name string, publisher FilePublisher) error {
	limited, cancel := context.WithTimeout(ctx, withdrawTimeout)
	defer cancel()
	unneeded, err := abandoned.Do(limited, &w.abandoned, name, stepGrace, func(context.Context) (ids []string, err error) {
		published, err := publisher.Published()
		for _, id := range published {
			if !w.needsFiles(w.fleet.nodes.Get(id)) {
				ids = append(ids, id)
			}
		}
		return ids, err
	})
	errs := []error{err}
	for _, id := range unneeded {
		if ctx.Err() != nil || w.abandoned.Left(name) != nil {
			break
		}
		errs = append(errs, w.withdraw(ctx, name, publisher, id))
	}
	return errors.Join(errs...)
}

// withdraw withdraws the files of a node unless its stored record shows that its machine needs them. Meanwhile, for
// withdrawTimeout and stepGrace at most, no work begins on the node; it takes no worker from another one.
func (w *fileWithdrawer) withdraw(ctx context.Context, name string, publisher FilePublisher, id string) error {
	if !w.pool.TryHold(id) {
		return nil
	}
	defer w.pool.Free(id)
	ctx, cancel := context.WithTimeout(ctx, withdrawTimeout)
	defer cancel()
	_, err := abandoned.Do(ctx, &w.abandoned, name, stepGrace, func(ctx context.Context) (none, error) {
		n, err := w.fleet.storedNode(ctx, id)
		switch {
		case err != nil && !errors.Is(err, NotFound):
			return none{}, err
		case w.needsFiles(n):
			return none{}, nil
		case ctx.Err() != nil: // the worker may be free, and new work may have published files
			return none{}, ctx.Err()
		}
		w.config.Log.Info("published files that no machine needs are withdrawn", "node", id)
		return none{}, publisher.Withdraw(id)
	})
	return err
}

// needsFiles reports whether the machine of a node may load published files. The files may belong to a conductor that
// no longer owns the node: a machine may still load them.
func (w *fileWithdrawer) needsFiles(n *Node) bool {
	if n == nil {
		return false
	}
	if n.ProvisionState.InProgress() {
		return true
	}
	hardware, enabled := w.config.Hardware[n.Driver]
	if !enabled { // what its machine needs is not known
		return true
	}
	publisher, ok := hardware.(FilePublisher)
	return ok && publisher.KeepsFiles(n)
}
