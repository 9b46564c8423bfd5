// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/ironstate/ironstate/conductor"
)

func (t *tester) checkContent(ctx context.Context) error {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	large, random := make([]byte, 1<<20), rand.New(rand.NewPCG(1, 0))
	for i := range large {
		large[i] = byte(random.Uint32())
	}
	many := make([]string, 16)
	for i := range many {
		many[i] = fmt.Sprintf("number=%d", i)
	}
	for i, r := range []conductor.Record{
		{},
		{Value: []byte(`{"name":"rack1-7"}`)},
		{Value: every, Keys: []string{"name=rack1-7", "instance_uuid=" + id(7)}},
		{Value: []byte("\n"), Keys: []string{"a/b", "%2f", "ä€😀", " ", "\n", "'; --", "[\"x\"]", "NAME=RACK1-7"}},
		{Value: large, Keys: []string{"name=" + strings.Repeat("x", 255)}},
		{Value: []byte{0}, Keys: many},
	} {
		r.Kind, r.ID = t.kind, id(i)
		r, err := t.create(ctx, r)
		if err != nil {
			return err
		}
		if err := t.stored(ctx, r); err != nil {
			return err
		}
		for _, value := range [][]byte{nil, bytes.Repeat([]byte{0xff}, 1<<20), r.Value} {
			r.Value = value
			if r, err = t.update(ctx, r); err != nil {
				return err
			}
			if err := t.stored(ctx, r); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *tester) checkNotFound(ctx context.Context) error {
	page, err := t.store().List(ctx, t.kind, "", 10)
	if err != nil || len(page) != 0 {
		return fmt.Errorf("list of nothing: want no record, got %s, %v", briefs(page), err)
	}
	r, err := t.create(ctx, t.record(1, "name=a"))
	if err != nil {
		return err
	}
	for _, key := range []string{id(2), "name=b", "name=", "name=aa", id(1)[:8]} {
		if err := t.absent(ctx, key); err != nil {
			return err
		}
	}
	r.ID = id(2)
	_, err = t.update(ctx, r)
	if err := wantError(conductor.NotFound, err); err != nil {
		return fmt.Errorf("update: %w", err)
	}
	_, err = t.delete(ctx, r)
	if err := wantError(conductor.NotFound, err); err != nil {
		return fmt.Errorf("delete: %w", err)
	}
	return nil
}

func (t *tester) checkUnique(ctx context.Context) error {
	first, err := t.create(ctx, t.record(1, "name=a", "instance=b"))
	if err != nil {
		return err
	}
	second, err := t.create(ctx, t.record(2, "name=c", id(9)))
	if err != nil {
		return err
	}
	for _, c := range []struct {
		r   conductor.Record
		key string
	}{
		{t.record(1), id(1)},
		{t.record(3, "name=a"), "name=a"},
		{t.record(3, "name=d", "instance=b"), "instance=b"},
		{t.record(3, id(1)), id(1)},
		{t.record(9), id(9)},
	} {
		_, err := t.create(ctx, c.r)
		if err := wantDuplicate(err, t.kind, c.key); err != nil {
			return fmt.Errorf("create %s: %w", brief(c.r), err)
		}
	}
	for _, key := range []string{"name=a", "instance=b", id(1)} {
		change := second
		change.Keys = []string{"name=e", key}
		_, err := t.update(ctx, change)
		if err := wantDuplicate(err, t.kind, key); err != nil {
			return fmt.Errorf("update to %s: %w", brief(change), err)
		}
	}
	for _, key := range []string{"name=d", "name=e", id(3)} {
		if err := t.absent(ctx, key); err != nil {
			return err
		}
	}
	return errors.Join(t.stored(ctx, first), t.stored(ctx, second))
}

func (t *tester) checkKeysReplaced(ctx context.Context) error {
	r, err := t.create(ctx, t.record(1, "name=a", "instance=b"))
	if err != nil {
		return err
	}
	for _, keys := range [][]string{
		{"name=a", "instance=b"},
		{"instance=b", "name=c"},
		{"name=c"},
		{"name=c", "x=1", "x=2", "x=3"},
		{},
		{"name=a"},
	} {
		before := r.Keys
		r.Keys = keys
		if r, err = t.update(ctx, r); err != nil {
			return fmt.Errorf("from the keys %q to %q: %w", before, keys, err)
		}
		if err := t.stored(ctx, r); err != nil {
			return err
		}
		for _, key := range missing(before, keys) {
			if err := t.absent(ctx, key); err != nil {
				return err
			}
		}
	}
	other, err := t.create(ctx, t.record(2, "instance=b", "name=c"))
	if err != nil {
		return fmt.Errorf("a key that its record no longer has: %w", err)
	}
	return errors.Join(t.stored(ctx, r), t.stored(ctx, other))
}

// missing returns what is in a and not in b.
func missing(a, b []string) []string {
	in := make(map[string]bool)
	for _, key := range b {
		in[key] = true
	}
	var out []string
	for _, key := range a {
		if !in[key] {
			out = append(out, key)
		}
	}
	return out
}

func (t *tester) checkDeleted(ctx context.Context) error {
	kept, err := t.create(ctx, t.record(1, "name=kept"))
	if err != nil {
		return err
	}
	last := kept.Revision
	for range 3 {
		if last, err = t.createdAndDeleted(ctx, last); err != nil {
			return err
		}
	}
	other, err := t.create(ctx, t.record(3, "name=a", "instance=b"))
	if err != nil {
		return fmt.Errorf("keys of a record that was deleted: %w", err)
	}
	page, err := t.store().List(ctx, t.kind, "", 10)
	if err != nil || len(page) != 2 {
		return fmt.Errorf("list: want two records, got %s, %v", briefs(page), err)
	}
	return errors.Join(t.stored(ctx, kept), t.stored(ctx, other))
}

// createdAndDeleted creates a record after the revision last, deletes it, and returns the revision of the deletion.
func (t *tester) createdAndDeleted(ctx context.Context, last int64) (deleted int64, err error) {
	r, err := t.create(ctx, t.record(2, "name=a", "instance=b"))
	if err != nil {
		return 0, err
	}
	if r.Revision <= last {
		return 0, fmt.Errorf("a record that was deleted with the revision %d is created again with %d", last, r.Revision)
	}
	if r, err = t.update(ctx, r); err != nil {
		return 0, err
	}
	if deleted, err = t.delete(ctx, r); err != nil {
		return 0, err
	}
	if deleted <= r.Revision {
		return 0, fmt.Errorf("the deletion has the revision %d, the record had %d", deleted, r.Revision)
	}
	var errs []error
	for _, key := range []string{r.ID, "name=a", "instance=b"} {
		errs = append(errs, t.absent(ctx, key))
	}
	if _, err := t.delete(ctx, r); !errors.Is(err, conductor.NotFound) {
		errs = append(errs, fmt.Errorf("delete for the second time: %w", wantError(conductor.NotFound, err)))
	}
	if _, err := t.update(ctx, r); !errors.Is(err, conductor.NotFound) {
		errs = append(errs, fmt.Errorf("update after the deletion: %w", wantError(conductor.NotFound, err)))
	}
	return deleted, errors.Join(errs...)
}

func (t *tester) checkKinds(ctx context.Context) error {
	here, err := t.create(ctx, t.record(1, "name=a"))
	if err != nil {
		return err
	}
	apart := &tester{stores: t.stores, kind: t.kind + "-apart"}
	for _, key := range []string{id(1), "name=a"} {
		if err := apart.absent(ctx, key); err != nil {
			return err
		}
	}
	there := apart.record(1, "name=a")
	there.Value = []byte("there")
	if there, err = apart.create(ctx, there); err != nil {
		return fmt.Errorf("the ID and key of another kind's record: %w", err)
	}
	if err := errors.Join(t.stored(ctx, here), apart.stored(ctx, there)); err != nil {
		return err
	}
	page, err := t.store().List(ctx, t.kind, "", 10)
	if err != nil || len(page) != 1 {
		return fmt.Errorf("list: want one record, got %s, %v", briefs(page), err)
	}
	if _, err := apart.delete(ctx, there); err != nil {
		return err
	}
	return t.stored(ctx, here)
}
