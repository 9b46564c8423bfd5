// SPDX-License-Identifier: Apache-2.0

package latest_test

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/ironstate/ironstate/conductor/internal/latest"
	_ "github.com/ironstate/ironstate/internal/rapidseed"
)

// read returns the next n values and the error after them.
func read(q *latest.Queue[int], n int) (values []int, err error) {
	for v, err := range q.All(context.Background()) {
		if err != nil {
			return values, err
		}
		if values = append(values, v); len(values) == n {
			break
		}
	}
	return values, nil
}

func TestTheReaderGetsTheLatestOfEachKey(t *testing.T) {
	q := latest.New(cmp.Compare[int])
	q.Set("a", 1)
	q.Set("b", 2)
	q.Mark(0)
	q.Set("a", 3)
	q.Set("c", 4)
	q.Set("c", 5)
	got, err := read(q, 4)
	require.NoError(t, err)
	require.Equal(t, []int{2, 3, 5, 0}, got, "also the removal of a key that the reader has not received")
}

func TestTheReaderGetsAnErrorLast(t *testing.T) {
	failure := errors.New("failed")
	q := latest.New(cmp.Compare[int])
	q.Fail(failure)
	q.Set("a", 1)
	got, err := read(q, -1)
	require.ErrorIs(t, err, failure)
	require.Equal(t, []int{1}, got)
}

func TestEachChangeWakesAWaitingReader(t *testing.T) {
	failure := errors.New("failed")
	for name, c := range map[string]struct {
		change func(q *latest.Queue[int])
		want   []int
		err    error
	}{
		"a value":   {func(q *latest.Queue[int]) { q.Set("a", 1) }, []int{1}, nil},
		"a mark":    {func(q *latest.Queue[int]) { q.Mark(4) }, []int{4}, nil},
		"a failure": {func(q *latest.Queue[int]) { q.Fail(failure) }, nil, failure},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := latest.New(cmp.Compare[int])
				go func() {
					synctest.Wait() // the reader waits
					c.change(q)
				}()
				got, err := read(q, 1)
				require.ErrorIs(t, err, c.err)
				require.Equal(t, c.want, got)
			})
		})
	}
}

func TestARangeEndsWithItsContext(t *testing.T) {
	q := latest.New(cmp.Compare[int])
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	q.Set("a", 1)
	q.Set("b", 2)
	seen := 0
	for _, err := range q.All(ctx) {
		require.NoError(t, err)
		seen++
		cancel()
	}
	require.Equal(t, 1, seen)
}

// value is a value for a key. A negative number reports the removal of the key.
type value struct {
	key    string
	number int
}

func TestASlowReaderHasTheFinalState(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := latest.New(func(a, b value) int { return cmp.Compare(max(a.number, -a.number), max(b.number, -b.number)) })
		state, known, number := map[string]int{}, map[string]int{}, 0
		take := func(t *rapid.T) {
			q.Mark(value{})
			for v := range q.All(context.Background()) {
				switch {
				case v.key == "":
					return
				case v.number < 0:
					delete(known, v.key)
				default:
					known[v.key] = v.number
				}
			}
		}
		key := rapid.SampledFrom([]string{"a", "b", "c"})
		t.Repeat(map[string]func(*rapid.T){
			"take": take,
			"put": func(t *rapid.T) {
				k := key.Draw(t, "key")
				number++
				q.Set(k, value{k, number})
				state[k] = number
			},
			"remove": func(t *rapid.T) {
				k := key.Draw(t, "key")
				if _, ok := state[k]; !ok {
					return
				}
				number++
				q.Set(k, value{k, -number})
				delete(state, k)
			},
		})
		take(t)
		require.True(t, maps.Equal(state, known), "%v is not %v", known, state)
	})
}
