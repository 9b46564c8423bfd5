// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"bytes"
	"context"
	"io"
	"time"

	"github.com/ironstate/ironstate/internal/jsonsize"
)

// The bounds of an answer that is within its bound in bytes.
const (
	maxText     = 16 << 10 // bytes of a text: a longer one, such as a config drive that the agent repeats, is cut
	maxKept     = 512 << 10
	maxValues   = 20_000
	maxDepth    = 64
	maxCommands = 2000
)

// freeAnswer is the number of bytes of an answer that are read without a turn.
const freeAnswer = 16 << 10

// Budget bounds the memory of the answers of all clients that share it. An answer of more than 16 KiB is read and
// decoded when it is its turn, at most 32 of them at a time, in the order in which they have begun. A turn ends with
// the timeout of the request at the latest, and needs no other turn. It is safe for concurrent use.
type Budget struct{ turns chan struct{} }

// NewBudget returns a budget of about 128 MiB: each of the 32 answers has at most 512 KiB and 20,000 values.
func NewBudget() *Budget { return &Budget{make(chan struct{}, 32)} }

// readAnswer reads the body of an answer and calls decode with it. Texts are cut after 16 KiB. The timer ends the
// request; it stands still while the answer waits for its turn.
func (c *Client) readAnswer(ctx context.Context, from io.Reader, timer *time.Timer, decode func(body []byte) error) error {
	sent := &io.LimitedReader{R: from, N: c.config.MaxAnswer + 1}
	kept := io.LimitReader(&shortener{from: sent}, maxKept+1)
	body, err := io.ReadAll(io.LimitReader(kept, freeAnswer))
	if err == nil && len(body) == freeAnswer {
		timer.Stop()
		select {
		case c.config.Budget.turns <- struct{}{}:
			defer func() { <-c.config.Budget.turns }()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		timer.Reset(c.config.Timeout)
		var rest []byte
		rest, err = io.ReadAll(kept)
		body = append(body, rest...)
	}
	switch {
	case err != nil:
		return reason(ctx, err)
	case sent.N == 0:
		return c.failure(ErrAnswer, 0, nil, "The agent on node %s answers with more than %d bytes.", c.config.Node, c.config.MaxAnswer)
	case len(body) > maxKept:
		return c.failure(ErrAnswer, 0, nil, "The agent on node %s answers with more than %d bytes in texts of up to %d bytes.",
			c.config.Node, maxKept, maxText)
	}
	if values, depth := jsonsize.Measure(body); values > maxValues || depth > maxDepth {
		return c.failure(ErrAnswer, 0, nil, "The agent on node %s answers with more than %d values, or more than %d of them within each other.",
			c.config.Node, maxValues, maxDepth)
	}
	return decode(body)
}

// shortener reads JSON and cuts its texts after maxText bytes, between two characters or escapes.
type shortener struct {
	from    io.Reader
	inText  bool
	length  int  // of the text so far
	escape  int  // the bytes that the current escape still has
	dropped bool // the current escape is left out
}

// Read implements [io.Reader]. It returns 0 and no error if it keeps none of the bytes that it has read.
func (s *shortener) Read(p []byte) (kept int, err error) {
	n, err := s.from.Read(p)
	for read := 0; read < n; {
		size, keep := s.next(p[read:n])
		kept += copy(p[kept:], p[read:read+keep])
		read += size
	}
	return kept, err
}

// next returns the size of the next part of the JSON, and how many of its first bytes are kept.
func (s *shortener) next(json []byte) (size, keep int) {
	switch {
	case !s.inText:
		size = bytes.IndexByte(json, '"') + 1
		if size == 0 {
			return len(json), len(json)
		}
		s.inText, s.length = true, 0
		return size, size
	case s.escape > 0:
		s.escape--
		if json[0] == 'u' { // four digits follow, none of which is a u
			s.escape = 4
		}
	case json[0] == '"':
		s.inText = false
		return 1, 1
	case json[0] == '\\':
		s.escape, s.dropped = 1, s.length >= maxText
	default:
		if size = bytes.IndexAny(json, "\"\\"); size < 0 {
			size = len(json)
		}
		keep = min(size, max(0, maxText-s.length))
		s.length += size
		return size, keep
	}
	s.length++
	if s.dropped {
		return 1, 0
	}
	return 1, 1
}
