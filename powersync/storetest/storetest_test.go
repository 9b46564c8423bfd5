// SPDX-License-Identifier: Apache-2.0

package storetest_test

import (
	"context"
	"iter"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/powersync/storetest"
)

// broken is a store that violates the contract.
type broken struct {
	*powersync.Memory
	records func(yield func(powersync.Record, error) bool)
	load    func(powersync.Record, error) (powersync.Record, error)
	update  func(context.Context, powersync.Record) error
}

func (b broken) Records(ctx context.Context) iter.Seq2[powersync.Record, error] {
	if b.records != nil {
		return b.records
	}
	return b.Memory.Records(ctx)
}

func (b broken) Load(ctx context.Context, id string) (powersync.Record, error) {
	r, err := b.Memory.Load(ctx, id)
	if b.load != nil {
		return b.load(r, err)
	}
	return r, err
}

func (b broken) Update(ctx context.Context, r powersync.Record) error {
	if b.update != nil {
		return b.update(ctx, r)
	}
	return b.Memory.Update(ctx, r)
}

func openMemory(records ...powersync.Record) (powersync.Store, error) { return memory(records), nil }

func memory(records []powersync.Record) *powersync.Memory {
	m := new(powersync.Memory)
	for _, r := range records {
		m.Put(r)
	}
	return m
}

func TestAStoreThatKeepsItsPromisesPasses(t *testing.T) {
	require.NoError(t, storetest.Check(openMemory))
}

func TestBrokenPromisesAreFound(t *testing.T) {
	for promise, breaks := range map[string]func(*broken){
		"each once": func(b *broken) {
			b.records = func(yield func(powersync.Record, error) bool) {
				for r, err := range b.Memory.Records(context.Background()) {
					for range 2 {
						if !yield(r, err) {
							return
						}
					}
				}
			}
		},
		"as they were put": func(b *broken) {
			b.records = func(func(powersync.Record, error) bool) {}
		},
		"needs the current revision": func(b *broken) {
			b.update = func(_ context.Context, r powersync.Record) error {
				if _, err := b.Memory.Load(context.Background(), r.ID); err != nil {
					return err
				}
				b.Put(r)
				return nil
			}
		},
		"never comes again": func(b *broken) {
			b.load = func(r powersync.Record, err error) (powersync.Record, error) {
				r.Revision = 1
				return r, err
			}
		},
		"are not found": func(b *broken) {
			b.load = func(r powersync.Record, _ error) (powersync.Record, error) { return r, nil }
		},
		"all fields are kept": func(b *broken) {
			b.load = func(r powersync.Record, err error) (powersync.Record, error) {
				r.Fault = ""
				return r, err
			}
		},
		"all fields are kept as they are": func(b *broken) {
			b.load = func(r powersync.Record, err error) (powersync.Record, error) {
				r.Name = ""
				return r, err
			}
		},
		"of several updates at once one is done": func(b *broken) {
			b.update = func(_ context.Context, r powersync.Record) error {
				if r.LastError == "3" {
					return nil // reports success without an update
				}
				return b.Memory.Update(context.Background(), r)
			}
		},
		"stored are fields of the writers": func(b *broken) {
			b.update = func(ctx context.Context, r powersync.Record) error {
				if now, err := b.Memory.Load(ctx, r.ID); err == nil && r.MaintenanceReason != "" {
					r.MaintenanceReason = now.MaintenanceReason // only the first half of it is written
				}
				return b.Memory.Update(ctx, r)
			}
		},
		"leaves other nodes alone": func(b *broken) {
			b.update = func(ctx context.Context, r powersync.Record) error {
				if other, err := b.Memory.Load(ctx, "node-1"); err == nil {
					other.Maintenance = true
					b.Put(other)
				}
				return b.Memory.Update(ctx, r)
			}
		},
	} {
		err := storetest.Check(func(records ...powersync.Record) (powersync.Store, error) {
			b := &broken{Memory: memory(records)}
			breaks(b)
			return b, nil
		})
		require.ErrorContains(t, err, promise)
	}
}

// A store that loses a field which is zero in each record of the check would pass.
func TestTheRecordsOfTheCheckHaveEveryField(t *testing.T) {
	unset := make(map[string]bool)
	for _, field := range reflect.VisibleFields(reflect.TypeFor[powersync.Record]()) {
		unset[field.Name] = field.Name != "Revision" // which the store sets
	}
	require.NoError(t, storetest.Check(func(records ...powersync.Record) (powersync.Store, error) {
		for name := range unset {
			unset[name] = unset[name] && reflect.ValueOf(records[0]).FieldByName(name).IsZero()
		}
		return openMemory(records...)
	}))
	for name, is := range unset {
		require.False(t, is, name)
	}
}
