// SPDX-License-Identifier: Apache-2.0

package embedded_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/etcd/embedded"
	"github.com/ironstate/ironstate/conductor/etcd/internal/etcdtest"
)

// roles are the functions that the child processes of the tests run.
var roles = map[string]func(arg string) error{"writer": write, "opener": openOnce, "restorer": restoreOnce, "dier": dieAtLog,
	"member": beMember}

func TestMain(m *testing.M) { etcdtest.Main(m, roles) }

// openOnce is the role "opener": it opens the store in the folder.
func openOnce(dir string) error {
	s, err := embedded.Open(context.Background(), embedded.Config{Dir: dir})
	if err != nil {
		return err
	}
	fmt.Println("opened")
	return s.Close()
}

// restoreOnce is the role "restorer": its argument is the lines FILE and DIR.
func restoreOnce(arg string) error {
	file, dir, _ := strings.Cut(arg, "\n")
	if err := embedded.Restore(context.Background(), embedded.Config{Dir: dir}, file); err != nil {
		return err
	}
	fmt.Println("restored")
	return nil
}

// dying is a log handler that exits the process at the nth message.
type dying struct {
	slog.Handler
	left atomic.Int64
}

func (d *dying) Enabled(context.Context, slog.Level) bool { return true }

func (d *dying) Handle(context.Context, slog.Record) error {
	if d.left.Add(-1) == 0 {
		os.Exit(9)
	}
	return nil
}

// dieAtLog is the role "dier": it opens the store in a folder and exits at etcd's nth log message.
func dieAtLog(arg string) error {
	dir, number, _ := strings.Cut(arg, " ")
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return err
	}
	log := &dying{Handler: slog.DiscardHandler}
	log.left.Store(n)
	s, err := embedded.Open(context.Background(), embedded.Config{Dir: dir, Log: slog.New(log)})
	if err != nil {
		return err
	}
	fmt.Println("opened")
	return s.Close()
}

// beMember is the role "member": it joins at the store in the folder as "before", until it is killed.
func beMember(dir string) error {
	s, err := embedded.Open(context.Background(), embedded.Config{Dir: dir})
	if err != nil {
		return err
	}
	return etcdtest.BeMember(s.Membership(0), "before")
}

// write is the role "writer": it creates and updates records in the folder forever, and prints each
// acknowledged write.
func write(dir string) error {
	ctx := context.Background()
	s, err := embedded.Open(ctx, embedded.Config{Dir: dir})
	if err != nil {
		return err
	}
	go func() {
		etcdtest.UntilParentEnds()
		os.Exit(0)
	}()
	var print sync.Mutex
	failed := make(chan error)
	for writer := range 8 {
		go func() {
			for n := 0; ; n++ {
				r := conductor.Record{Kind: etcdtest.Kind, ID: fmt.Sprintf("%d-%d-%d", os.Getpid(), writer, n)}
				r.Keys = []string{"name=" + r.ID}
				for update := range 3 {
					r.Value = strconv.AppendInt(nil, int64(update), 10)
					var err error
					if update == 0 {
						r.Revision, err = s.Create(ctx, r)
					} else {
						r.Revision, err = s.Update(ctx, r)
					}
					if err != nil {
						failed <- err
						return
					}
					print.Lock()
					fmt.Println(r.ID, update, r.Revision)
					print.Unlock()
				}
			}
		}()
	}
	return <-failed
}
