// SPDX-License-Identifier: Apache-2.0

package storetest_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ironstate/ironstate/conductor"
)

var brokenLists = []mutant{
	{"a page is at most 1000 records", "a list has each record once", func(b *broken) {
		b.list = func(ctx context.Context, kind conductor.Kind, after string, limit int) ([]conductor.Record, error) {
			return b.Memory.List(ctx, kind, after, min(limit, 1000))
		}
	}},
	{"a page begins with the last of the one before", "a list has each record once", func(b *broken) {
		b.list = func(ctx context.Context, kind conductor.Kind, after string, limit int) ([]conductor.Record, error) {
			page, err := b.Memory.List(ctx, kind, after, limit)
			if r, missing := b.Memory.Get(ctx, kind, after); missing == nil && limit > 1 {
				page = append([]conductor.Record{r}, page...)
			}
			return page[:min(len(page), limit)], err
		}
	}},
	{"a list is in the order of creation", "a list has each record once", func(b *broken) {
		b.list = func(ctx context.Context, kind conductor.Kind, after string, limit int) ([]conductor.Record, error) {
			page, err := b.Memory.List(ctx, kind, after, limit)
			slices.SortFunc(page, func(a, b conductor.Record) int { return int(a.Revision - b.Revision) })
			return page, err
		}
	}},
	{"a list ends after a record that is not there", "a list has each record once", func(b *broken) {
		b.list = func(ctx context.Context, kind conductor.Kind, after string, limit int) ([]conductor.Record, error) {
			if _, err := b.Memory.Get(ctx, kind, after); after != "" && err != nil {
				return nil, nil
			}
			return b.Memory.List(ctx, kind, after, limit)
		}
	}},
	{"pages are counted", "that exists throughout", func(b *broken) {
		ends := make(map[string]int) // the number of records before the end of a page
		b.list = func(ctx context.Context, kind conductor.Kind, after string, limit int) ([]conductor.Record, error) {
			all, err := b.Memory.List(ctx, kind, "", 100_000)
			if err != nil || limit != 23 {
				return b.Memory.List(ctx, kind, after, limit)
			}
			if after == "" {
				clear(ends)
			}
			rest := all[min(ends[after], len(all)):]
			page := rest[:min(limit, len(rest))]
			if len(page) > 0 {
				ends[page[len(page)-1].ID] = ends[after] + len(page)
			}
			return page, nil
		}
	}},
}

var brokenWatches = []mutant{
	{"Synced never comes", "yields all records, then Synced", func(b *broken) {
		b.changes(func(c conductor.Change, _ map[string]conductor.Change) []conductor.Change {
			if c.Synced {
				return nil
			}
			return []conductor.Change{c}
		})
	}},
	{"Synced comes first", "yields all records, then Synced", func(b *broken) {
		b.changes(func(c conductor.Change, before map[string]conductor.Change) []conductor.Change {
			switch {
			case c.Synced:
				return nil
			case len(before) == 0:
				return []conductor.Change{{Synced: true}, c}
			}
			return []conductor.Change{c}
		})
	}},
	{"a watch begins with former deletions", "was deleted before the watch began", func(b *broken) { b.replayDeletions(false) }},
	{"a watch yields former deletions after Synced", "was deleted before the watch began", func(b *broken) { b.replayDeletions(true) }},
	{"deletions are not told", "yields all records, then Synced", func(b *broken) {
		b.changes(func(c conductor.Change, _ map[string]conductor.Change) []conductor.Change {
			if c.Deleted {
				return nil
			}
			return []conductor.Change{c}
		})
	}},
	{"a deletion has no revision", "yields all records, then Synced", func(b *broken) {
		b.changes(func(c conductor.Change, _ map[string]conductor.Change) []conductor.Change {
			if c.Deleted {
				c.Record.Revision = 0
			}
			return []conductor.Change{c}
		})
	}},
	{"a watch tells without keys", "yields all records, then Synced", func(b *broken) {
		b.changes(func(c conductor.Change, _ map[string]conductor.Change) []conductor.Change {
			c.Record.Keys = nil
			return []conductor.Change{c}
		})
	}},
	{"a watch yields all kinds", "yields only records of its kind", func(b *broken) {
		b.watch = func(ctx context.Context, kind conductor.Kind) iter.Seq2[conductor.Change, error] {
			return func(yield func(conductor.Change, error) bool) {
				if page, _ := b.Memory.List(ctx, kind+"-apart", "", 10); len(page) > 0 && !yield(conductor.Change{Record: page[0]}, nil) {
					return
				}
				b.Memory.Watch(ctx, kind)(yield)
			}
		}
	}},
	{"what is written between the list and the watch is missed", "what is stored", func(b *broken) {
		b.watch = func(ctx context.Context, kind conductor.Kind) iter.Seq2[conductor.Change, error] {
			return func(yield func(conductor.Change, error) bool) {
				page, _ := b.Memory.List(ctx, kind, "", 10_000)
				for _, r := range page {
					if !yield(conductor.Change{Record: r}, nil) {
						return
					}
				}
				if !yield(conductor.Change{Synced: true}, nil) {
					return
				}
				synced := false
				for change, err := range b.Memory.Watch(ctx, kind) {
					if synced = synced || change.Synced; !synced || change.Synced {
						continue
					}
					if !yield(change, err) {
						return
					}
				}
			}
		}
	}},
	{"a watch goes back", "in the order of revisions", func(b *broken) {
		b.changes(func(c conductor.Change, before map[string]conductor.Change) []conductor.Change {
			last, ok := before[c.Record.ID]
			if !ok || c.Record.Keys == nil || !strings.HasPrefix(c.Record.Keys[0], "writer=") {
				return []conductor.Change{c}
			}
			return []conductor.Change{c, last, c}
		})
	}},
	{"reads see a record later than the watch", "a record that a watch has yielded can be read", func(b *broken) {
		b.create = func(ctx context.Context, r conductor.Record) (int64, error) {
			defer time.Sleep(time.Millisecond)
			return b.Memory.Create(ctx, r)
		}
		yielded := sync.Map{} // the time by ID
		b.changes(func(c conductor.Change, _ map[string]conductor.Change) []conductor.Change {
			yielded.Store(c.Record.ID, time.Now())
			return []conductor.Change{c}
		})
		b.get = func(ctx context.Context, kind conductor.Kind, key string) (conductor.Record, error) {
			if at, ok := yielded.Load(key); ok && time.Since(at.(time.Time)) < time.Millisecond {
				return conductor.Record{}, conductor.NotFound
			}
			return b.Memory.Get(ctx, kind, key)
		}
	}},
	{"a slow watcher is cut off", "receives the last one", func(b *broken) {
		var writes atomic.Int64
		b.update = func(ctx context.Context, r conductor.Record) (int64, error) {
			writes.Add(1)
			return b.Memory.Update(ctx, r)
		}
		b.watch = func(ctx context.Context, kind conductor.Kind) iter.Seq2[conductor.Change, error] {
			return func(yield func(conductor.Change, error) bool) {
				for change, err := range b.Memory.Watch(ctx, kind) {
					begin := writes.Load()
					if !yield(change, err) {
						return
					}
					if writes.Load() > begin+100 {
						yield(conductor.Change{}, errors.New("too slow"))
						return
					}
				}
			}
		}
	}},
	{"a writer waits for the watchers", "delays no write", func(b *broken) {
		turn := make(chan struct{}, 1)
		b.watch = func(ctx context.Context, kind conductor.Kind) iter.Seq2[conductor.Change, error] {
			return func(yield func(conductor.Change, error) bool) {
				for change, err := range b.Memory.Watch(ctx, kind) {
					turn <- struct{}{}
					more := yield(change, err)
					<-turn
					if !more {
						return
					}
				}
			}
		}
		b.update = func(ctx context.Context, r conductor.Record) (int64, error) {
			select {
			case turn <- struct{}{}:
				defer func() { <-turn }()
				return b.Memory.Update(ctx, r)
			case <-ctx.Done():
				return 0, ctx.Err()
			}
		}
	}},
	{"a context that ends is an error", "ends with its context", func(b *broken) {
		b.watch = func(ctx context.Context, kind conductor.Kind) iter.Seq2[conductor.Change, error] {
			return func(yield func(conductor.Change, error) bool) {
				for change, err := range b.Memory.Watch(ctx, kind) {
					if !yield(change, err) {
						return
					}
				}
				yield(conductor.Change{}, fmt.Errorf("watch: %w", ctx.Err()))
			}
		}
	}},
	{"a watch does not look at its context", "did not return", func(b *broken) {
		b.watch = func(_ context.Context, kind conductor.Kind) iter.Seq2[conductor.Change, error] {
			return func(yield func(conductor.Change, error) bool) {
				ctx, cancel := context.WithTimeout(context.Background(), hang)
				defer cancel()
				b.Memory.Watch(ctx, kind)(yield)
			}
		}
	}},
	{"a watch yields no deletion of a record that it has not yielded", "a watch yields each deletion", func(b *broken) {
		b.watch = func(ctx context.Context, kind conductor.Kind) iter.Seq2[conductor.Change, error] {
			return func(yield func(conductor.Change, error) bool) {
				yielded := map[string]bool{}
				for change, err := range b.Memory.Watch(ctx, kind) {
					if change.Deleted && !yielded[change.Record.ID] {
						continue
					}
					yielded[change.Record.ID] = !change.Deleted
					if !yield(change, err) {
						return
					}
				}
			}
		}
	}},
	{"a watch yields no deletion of a record that was created before Synced", "a watch yields each deletion", func(b *broken) {
		b.watch = func(ctx context.Context, kind conductor.Kind) iter.Seq2[conductor.Change, error] {
			return func(yield func(conductor.Change, error) bool) {
				existing := map[string]bool{} // at Synced
				yielded := map[string]bool{}
				for change, err := range b.Memory.Watch(ctx, kind) {
					if change.Synced {
						page, _ := b.Memory.List(ctx, kind, "", 1000)
						for _, r := range page {
							existing[r.ID] = true
						}
					}
					if id := change.Record.ID; change.Deleted && existing[id] && !yielded[id] {
						continue
					}
					yielded[change.Record.ID] = !change.Deleted
					if !yield(change, err) {
						return
					}
				}
			}
		}
	}},
	{"who leaves a watch ends the others", "a caller may leave a watch", func(b *broken) {
		var mu sync.Mutex
		var watches []context.CancelFunc
		b.watch = func(ctx context.Context, kind conductor.Kind) iter.Seq2[conductor.Change, error] {
			return func(yield func(conductor.Change, error) bool) {
				ctx, cancel := context.WithCancel(ctx)
				defer cancel()
				mu.Lock()
				watches = append(watches, cancel)
				mu.Unlock()
				for change, err := range b.Memory.Watch(ctx, kind) {
					if yield(change, err) {
						continue
					}
					mu.Lock()
					defer mu.Unlock()
					for _, end := range watches {
						end()
					}
					return
				}
			}
		}
	}},
	{"a context that has ended blocks", "no method waits after its context has ended", func(b *broken) {
		b.list = func(ctx context.Context, kind conductor.Kind, after string, limit int) ([]conductor.Record, error) {
			if ctx.Err() != nil {
				time.Sleep(hang)
			}
			return b.Memory.List(ctx, kind, after, limit)
		}
	}},
	{"a deletion waits for a while after the end of its context", "Delete did not return within 10s", func(b *broken) {
		b.delete = func(ctx context.Context, kind conductor.Kind, id string, revision int64) (int64, error) {
			if ctx.Err() != nil {
				time.Sleep(50 * time.Second)
			}
			return b.Memory.Delete(ctx, kind, id, revision)
		}
	}},
	{"a watch waits for a while after the end of its context", "Watch did not return within 10s", func(b *broken) {
		b.watch = func(ctx context.Context, kind conductor.Kind) iter.Seq2[conductor.Change, error] {
			if ctx.Err() != nil {
				time.Sleep(50 * time.Second)
			}
			return b.Memory.Watch(ctx, kind)
		}
	}},
}

// replayDeletions lets a watch yield what was deleted before it began: at its beginning, or after Synced.
func (b *broken) replayDeletions(afterSynced bool) {
	var mu sync.Mutex
	deleted := make(map[conductor.Kind][]conductor.Change)
	b.delete = func(ctx context.Context, kind conductor.Kind, id string, revision int64) (int64, error) {
		revision, err := b.Memory.Delete(ctx, kind, id, revision)
		if err == nil {
			mu.Lock()
			defer mu.Unlock()
			deleted[kind] = append(deleted[kind], conductor.Change{Record: conductor.Record{Kind: kind, ID: id, Revision: revision}, Deleted: true})
		}
		return revision, err
	}
	b.watch = func(ctx context.Context, kind conductor.Kind) iter.Seq2[conductor.Change, error] {
		return func(yield func(conductor.Change, error) bool) {
			mu.Lock()
			former := slices.Clone(deleted[kind])
			mu.Unlock()
			replay := func() bool {
				return !slices.ContainsFunc(former, func(c conductor.Change) bool { return !yield(c, nil) })
			}
			if !afterSynced && !replay() {
				return
			}
			for change, err := range b.Memory.Watch(ctx, kind) {
				if !yield(change, err) || afterSynced && change.Synced && !replay() {
					return
				}
			}
		}
	}
}
