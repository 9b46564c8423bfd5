// SPDX-License-Identifier: Apache-2.0

package index

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/states"
)

func TestARangeHasTheRecordsOfTheWholeListThatItSelects(t *testing.T) {
	x := newIndex()
	for i := range 2*scanned + 1 { // the records of the node "even" take one part and a record, all take three parts
		x.put(&Meta{ID: fmt.Sprintf("%03d", i), Created: time.Unix(int64(i/2), 0), Node: []string{"even", ""}[i%2], Revision: 1})
	}
	all, even, none := x.All(), "even", ""
	for _, of := range []*string{nil, &even, &none, &all[0].ID} {
		for _, after := range []string{"", "000", "001", "002", "255", "256", "257", "511", "512"} {
			for _, backwards := range []bool{false, true} {
				want := slices.Clone(all)
				if backwards {
					slices.Reverse(want)
				}
				want = want[slices.IndexFunc(want, func(m *Meta) bool { return m.ID == after })+1:]
				want = slices.DeleteFunc(want, func(m *Meta) bool { return of != nil && m.Node != *of })
				got, err := x.Select(t.Context(), Range{Of: of, After: after, Backwards: backwards})
				require.NoError(t, err)
				require.Equal(t, want, slices.AppendSeq([]*Meta{}, got))
			}
		}
	}
	_, err := x.Select(t.Context(), Range{After: "unknown"})
	require.Equal(t, ErrNoRecord, err)
	got, err := x.Select(t.Context(), Range{})
	require.NoError(t, err)
	for m := range got {
		require.Same(t, all[0], m)
		break
	}
}

func TestAnIndexThatNoWatchHasReadAnswersOnlyWithoutWaiting(t *testing.T) {
	x, ended := newUnread(), func() context.Context {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		return ctx
	}()
	m := &Meta{ID: "a", Node: "n", Revision: 1}
	x.put(m)
	require.Equal(t, []*Meta{m}, x.All())
	require.Equal(t, []*Meta{m}, x.AllOf("n"))
	require.Equal(t, []string{"n"}, x.Owners())
	require.Equal(t, context.Canceled, x.Wait(ended))
	_, err := x.ListOf(ended, "n")
	require.Equal(t, context.Canceled, err)
	_, err = x.Select(ended, Range{})
	require.Equal(t, context.Canceled, err)
	_, err = x.Count(ended, states.SetOf(states.Active))
	require.Equal(t, context.Canceled, err)
}
