// SPDX-License-Identifier: Apache-2.0

package storetest_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ironstate/ironstate/conductor"
)

var brokenRecords = []mutant{
	{"keys do not find a record", "is stored as written", func(b *broken) {
		b.get = func(ctx context.Context, kind conductor.Kind, key string) (conductor.Record, error) {
			if strings.Contains(key, "=") {
				return conductor.Record{}, conductor.NotFound
			}
			return b.Memory.Get(ctx, kind, key)
		}
	}},
	{"values are made valid UTF-8", "is stored as written", func(b *broken) {
		b.create = func(ctx context.Context, r conductor.Record) (int64, error) {
			r.Value = []byte(strings.ToValidUTF8(string(r.Value), "\uFFFD"))
			return b.Memory.Create(ctx, r)
		}
	}},
	{"values end after 64 KiB", "is stored as written", func(b *broken) {
		b.update = func(ctx context.Context, r conductor.Record) (int64, error) {
			r.Value = r.Value[:min(len(r.Value), 64<<10)]
			return b.Memory.Update(ctx, r)
		}
	}},
	{"keys do not care for case", "is stored as written", func(b *broken) {
		b.create = func(ctx context.Context, r conductor.Record) (int64, error) {
			r.Keys = slices.Clone(r.Keys)
			for i := range r.Keys {
				r.Keys[i] = strings.ToLower(r.Keys[i])
			}
			return b.Memory.Create(ctx, r)
		}
	}},
	{"a prefix of a key finds a record", "a record that does not exist is not found", func(b *broken) {
		b.get = func(ctx context.Context, kind conductor.Kind, key string) (conductor.Record, error) {
			if r, err := b.Memory.Get(ctx, kind, key); err == nil {
				return r, nil
			}
			page, err := b.Memory.List(ctx, kind, "", 10_000)
			if i := slices.IndexFunc(page, func(r conductor.Record) bool { return strings.HasPrefix(r.ID, key) }); i >= 0 {
				return page[i], err
			}
			return conductor.Record{}, conductor.NotFound
		}
	}},
	{"what is not there is a record without content", "a record that does not exist is not found", func(b *broken) {
		b.get = func(ctx context.Context, kind conductor.Kind, key string) (conductor.Record, error) {
			r, _ := b.Memory.Get(ctx, kind, key)
			return r, nil
		}
	}},
	{"kinds are not apart", "kinds are independent", func(b *broken) {
		b.get = func(ctx context.Context, kind conductor.Kind, key string) (conductor.Record, error) {
			r, err := b.Memory.Get(ctx, kind, key)
			if base, ok := strings.CutSuffix(string(kind), "-apart"); ok && err != nil {
				return b.Memory.Get(ctx, conductor.Kind(base), key)
			}
			return r, err
		}
	}},
}

var brokenWrites = []mutant{
	{"a duplicate is no error", "share an ID or a key", func(b *broken) {
		b.create = func(ctx context.Context, r conductor.Record) (int64, error) {
			revision, err := b.Memory.Create(ctx, r)
			if duplicate := new(conductor.DuplicateError); errors.As(err, &duplicate) {
				return 1, nil
			}
			return revision, err
		}
	}},
	{"the error names another key", "share an ID or a key", func(b *broken) {
		b.create = func(ctx context.Context, r conductor.Record) (int64, error) {
			revision, err := b.Memory.Create(ctx, r)
			if duplicate := new(conductor.DuplicateError); errors.As(err, &duplicate) {
				err = &conductor.DuplicateError{Kind: r.Kind, Key: r.ID}
			}
			return revision, err
		}
	}},
	{"an update keeps the keys", "an update replaces the keys", func(b *broken) {
		b.update = func(ctx context.Context, r conductor.Record) (int64, error) {
			if old, err := b.Memory.Get(ctx, r.Kind, r.ID); err == nil {
				r.Keys = append(slices.Clone(r.Keys), old.Keys...)
			}
			return b.Memory.Update(ctx, r)
		}
	}},
	{"a deletion leaves the keys", "leaves nothing of the record", func(b *broken) {
		b.delete = func(ctx context.Context, kind conductor.Kind, id string, revision int64) (int64, error) {
			r, _ := b.Memory.Get(ctx, kind, id)
			gone, err := b.Memory.Delete(ctx, kind, id, revision)
			if err == nil && len(r.Keys) > 0 {
				_, _ = b.Memory.Create(ctx, conductor.Record{Kind: kind, ID: id + "-keys", Keys: r.Keys})
			}
			return gone, err
		}
	}},
	{"a deletion has the record's revision", "leaves nothing of the record", func(b *broken) {
		b.delete = func(ctx context.Context, kind conductor.Kind, id string, revision int64) (int64, error) {
			_, err := b.Memory.Delete(ctx, kind, id, revision)
			return revision, err
		}
	}},
	{"the last writer wins", "needs the current revision", func(b *broken) { b.update = b.force }},
	{"a deletion does not look at the revision", "needs the current revision", func(b *broken) {
		b.delete = func(ctx context.Context, kind conductor.Kind, id string, _ int64) (int64, error) {
			r, err := b.Memory.Get(ctx, kind, id)
			if err != nil {
				return 0, err
			}
			return b.Memory.Delete(ctx, kind, id, r.Revision)
		}
	}},
	{"revision 0 is any revision", "needs the current revision", func(b *broken) {
		b.update = func(ctx context.Context, r conductor.Record) (int64, error) {
			if r.Revision == 0 {
				return b.force(ctx, r)
			}
			return b.Memory.Update(ctx, r)
		}
	}},
	{"a write that fails is done by half", "a write that fails changes nothing", func(b *broken) {
		b.update = func(ctx context.Context, r conductor.Record) (int64, error) {
			revision, err := b.Memory.Update(ctx, r)
			if duplicate := new(conductor.DuplicateError); errors.As(err, &duplicate) {
				half := r
				half.Keys = half.Keys[:1]
				_, _ = b.Memory.Update(ctx, half)
			}
			return revision, err
		}
	}},
	{"an update that changes nothing is not done", "revisions grow", func(b *broken) {
		b.update = func(ctx context.Context, r conductor.Record) (int64, error) {
			old, err := b.Memory.Get(ctx, r.Kind, r.ID)
			if err == nil && old.Revision == r.Revision && string(old.Value) == string(r.Value) && slices.Equal(old.Keys, r.Keys) {
				return r.Revision, nil
			}
			return b.Memory.Update(ctx, r)
		}
	}},
}

var brokenRaces = []mutant{
	{"an update compares, then writes", "of several concurrent updates one succeeds", func(b *broken) {
		b.update = func(ctx context.Context, r conductor.Record) (int64, error) {
			now, err := b.Memory.Get(ctx, r.Kind, r.ID)
			switch {
			case err != nil:
				return 0, err
			case now.Revision != r.Revision:
				return 0, conductor.ErrConflict
			}
			time.Sleep(time.Millisecond)
			return b.force(ctx, r)
		}
	}},
	{"an update is lost now and then", "no update is lost", func(b *broken) {
		var mu sync.Mutex
		writes := 0
		b.update = func(ctx context.Context, r conductor.Record) (int64, error) {
			mu.Lock()
			defer mu.Unlock()
			if now, err := b.Memory.Get(ctx, r.Kind, r.ID); err != nil || now.Revision != r.Revision || len(r.Value) > 3 {
				return b.Memory.Update(ctx, r)
			}
			if writes++; writes%50 == 0 {
				return r.Revision, nil // loses an increment of the counter
			}
			return b.Memory.Update(ctx, r)
		}
	}},
	{"a creation looks for the ID, then writes", "of several concurrent creates with one key one succeeds", func(b *broken) {
		b.create = func(ctx context.Context, r conductor.Record) (int64, error) {
			if _, err := b.Memory.Get(ctx, r.Kind, r.ID); err == nil {
				return 0, &conductor.DuplicateError{Kind: r.Kind, Key: r.ID}
			}
			time.Sleep(time.Millisecond)
			revision, err := b.Memory.Create(ctx, r)
			if duplicate := new(conductor.DuplicateError); errors.As(err, &duplicate) && duplicate.Key == r.ID {
				return b.force(ctx, r)
			}
			return revision, err
		}
	}},
	{"a deletion compares, then deletes", "of a concurrent update and deletion one succeeds", func(b *broken) {
		b.delete = func(ctx context.Context, kind conductor.Kind, id string, revision int64) (int64, error) {
			r, err := b.Memory.Get(ctx, kind, id)
			switch {
			case err != nil:
				return 0, err
			case r.Revision != revision:
				return 0, conductor.ErrConflict
			}
			time.Sleep(time.Millisecond)
			if r, err = b.Memory.Get(ctx, kind, id); err != nil {
				return 0, err
			}
			return b.Memory.Delete(ctx, kind, id, r.Revision)
		}
		b.update = func(ctx context.Context, r conductor.Record) (int64, error) {
			time.Sleep(time.Millisecond / 2)
			return b.Memory.Update(ctx, r)
		}
	}},
	{"a key is found in a list of keys that lags", "a contested key belongs to one record", func(b *broken) {
		var mu sync.Mutex
		lagging := make(map[string]string) // the ID of the first record that got the key by an update
		b.get = func(ctx context.Context, kind conductor.Kind, key string) (conductor.Record, error) {
			mu.Lock()
			defer mu.Unlock()
			if !strings.HasPrefix(key, "port=") {
				return b.Memory.Get(ctx, kind, key)
			}
			if id, ok := lagging[key]; ok {
				return b.Memory.Get(ctx, kind, id)
			}
			return b.Memory.Get(ctx, kind, key)
		}
		b.update = func(ctx context.Context, r conductor.Record) (int64, error) {
			revision, err := b.Memory.Update(ctx, r)
			mu.Lock()
			defer mu.Unlock()
			for _, key := range r.Keys {
				if _, ok := lagging[key]; !ok {
					lagging[key] = r.ID
				}
			}
			return revision, err
		}
	}},
}
