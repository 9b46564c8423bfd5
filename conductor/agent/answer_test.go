// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/json"
	"io"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/bubble"
)

func TestTextsAreCutBetweenCharactersAndEscapes(t *testing.T) {
	fill := strings.Repeat("x", maxText-1)
	for text, want := range map[string]string{
		`{"a": "b", "c": 1}`:                 `{"a": "b", "c": 1}`,
		`"` + fill + `x"`:                    `"` + fill + `x"`,
		`"` + fill + `xy" `:                  `"` + fill + `x" `,
		`"` + fill + `\u001by"`:              `"` + fill + `\u001b"`,
		`"` + fill + `\\\"y", "\""`:          `"` + fill + `\\", "\""`,
		`"` + fill + `x\"", {}`:              `"` + fill + `x", {}`,
		`"` + fill + `x\u0022", {}`:          `"` + fill + `x", {}`,
		`"` + fill + `\u00e9\u00e9"`:         `"` + fill + `\u00e9"`,
		`"\u00e9` + fill + `yz"`:             `"\u00e9` + fill[:maxText-6] + `"`,
		`{"` + fill + `xyz": "yz"}`:          `{"` + fill + `x": "yz"}`,
		`"` + fill + `yz", "` + fill + `yz"`: `"` + fill + `y", "` + fill + `y"`,
	} {
		for _, from := range []io.Reader{
			strings.NewReader(text), iotest.OneByteReader(strings.NewReader(text)), iotest.DataErrReader(strings.NewReader(text)),
		} {
			got, err := io.ReadAll(&shortener{from: from})
			require.NoError(t, err)
			require.Equal(t, want, string(got))
		}
	}
}

// readOf reads an answer of an agent by a budget and a timer.
func readOf(t *testing.T, body io.Reader, b *Budget, timer *time.Timer) (decoded []byte, err error) {
	c := &Client{config: Config{Node: "n", MaxAnswer: 16 << 20, Timeout: time.Minute, Budget: b}}
	err = c.readAnswer(t.Context(), body, timer, func(body []byte) error {
		decoded = body
		return nil
	})
	return decoded, err
}

func TestTextsOfAnAnswerAreKeptUpToTheirBound(t *testing.T) {
	for size, want := range map[int]bool{maxKept - 1: true, maxKept: true, maxKept + 1: false, maxKept + 2: false} {
		body, err := readOf(t, strings.NewReader(strings.Repeat(" ", size)), NewBudget(), time.NewTimer(time.Minute))
		if want {
			require.NoError(t, err)
			require.Len(t, body, size)
		} else {
			require.ErrorIs(t, err, ErrAnswer)
			require.Nil(t, body)
		}
	}
}

func TestOfAnAnswerTheLastCommandsAreKept(t *testing.T) {
	commands := func(n, size int) []Command {
		all := make([]Command, n)
		for i := range all {
			all[i] = Command{ID: strconv.Itoa(i), Name: "n", Status: Running, Error: make([]byte, size), Result: []byte("{}")}
		}
		return all
	}
	for name, test := range map[string]struct {
		n, size, first, last int // the IDs of the first one that is kept and of the last one
	}{
		"few":         {n: 3, first: 0, last: 2},
		"200":         {n: 200, first: 0, last: 199},
		"201":         {n: 201, first: 1, last: 200},
		"large ones":  {n: 9, size: 40_000, first: 7, last: 8},
		"the largest": {n: 9, size: maxResult - len("8nRUNNING{}"), first: 8, last: 8},
	} {
		kept, err := new(Client).last(commands(test.n, test.size))
		require.NoError(t, err, name)
		require.Len(t, kept, test.last-test.first+1, name)
		require.Equal(t, strconv.Itoa(test.first), kept[0].ID, name)
		last := len(kept) - 1
		require.Equal(t, Command{ID: strconv.Itoa(test.last), Name: "n", Status: Running, Error: make([]byte, test.size),
			Result: []byte("{}")}, kept[last], name)
		for _, c := range kept[:last] {
			require.Nil(t, c.Result, name)
			require.Len(t, c.Error, test.size, name)
		}
	}
	_, err := new(Client).last(commands(9, maxResult-len("8nRUNNING{}")+1))
	require.ErrorIs(t, err, ErrAnswer)
	kept, err := new(Client).last(nil)
	require.NoError(t, err)
	require.Empty(t, kept)
}

func TestTheTimeoutStandsStillWhileAnAnswerWaitsForItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget()
		for range cap(b.turns) {
			b.turns <- struct{}{}
		}
		var fired atomic.Bool
		timer := time.AfterFunc(time.Minute, func() { fired.Store(true) })
		done := make(chan error, 1)
		go func() {
			_, err := readOf(t, strings.NewReader(strings.Repeat(" ", maxText)), b, timer)
			done <- err
		}()
		bubble.Sleep(time.Hour)
		require.False(t, fired.Load())
		<-b.turns
		require.NoError(t, <-done)
		bubble.Sleep(time.Minute - 1)
		require.False(t, fired.Load(), "the timeout begins again with the turn")
		bubble.Sleep(2 * time.Nanosecond)
		require.True(t, fired.Load())
	})
}

// FuzzShortener compares the shortened JSON with the values that the standard decoder reads from the whole.
func FuzzShortener(f *testing.F) {
	f.Add(`{"a": ["b\u001b\"", 1]}`, 3)
	f.Add(`"\\\\\ud83d\ude00é"`, 16<<10)
	f.Fuzz(func(t *testing.T, text string, at int) {
		if i := strings.IndexByte(text, '"'); i >= 0 && at > 0 { // a long text
			text = text[:i+1] + strings.Repeat("x", at%(2*maxText)) + text[i+1:]
		}
		got, err := io.ReadAll(&shortener{from: strings.NewReader(text)})
		require.NoError(t, err)
		require.LessOrEqual(t, len(got), len(text))
		var whole, kept any
		if json.Unmarshal([]byte(text), &whole) != nil || !utf8.ValidString(text) {
			return
		}
		require.NoError(t, json.Unmarshal(got, &kept), "what is kept of JSON is JSON")
		requireShortened(t, whole, kept)
	})
}

// requireShortened requires that a value is another one with the beginnings of its texts.
func requireShortened(t *testing.T, whole, kept any) {
	switch whole := whole.(type) {
	case string:
		// The last character may be cut off within its bytes or its two codes.
		require.True(t, strings.HasPrefix(whole, strings.TrimRight(kept.(string), "\ufffd")))
		if len(whole) < maxText/6 {
			require.Equal(t, whole, kept)
		}
	case []any:
		require.Len(t, kept, len(whole))
		for i := range whole {
			requireShortened(t, whole[i], kept.([]any)[i])
		}
	case map[string]any:
		for key, value := range whole {
			if len(key) < maxText/6 {
				requireShortened(t, value, kept.(map[string]any)[key])
			}
		}
	default:
		require.Equal(t, whole, kept)
	}
}
