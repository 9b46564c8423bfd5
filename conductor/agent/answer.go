// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"bytes"
	"context"
	"io"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ironstate/ironstate/internal/jsonsize"
	"github.com/ironstate/ironstate/internal/masked"
)

// The bounds of an answer that is within its bound in bytes.
const (
	maxText   = 16 << 10 // bytes of a text: a longer one, such as a config drive that the agent repeats, is cut
	maxKept   = 512 << 10
	maxValues = 20_000
	maxDepth  = 64
)

// The client keeps at most maxCommands commands of a decoded answer, whose texts together have at most maxResult bytes.
const (
	maxCommands = 200
	maxResult   = 96 << 10
)

// freeAnswer is the number of bytes of an answer that are read without a turn.
const freeAnswer = 16 << 10

// Budget bounds the memory of the answers of all clients that share it. An answer of more than 16 KiB is read and
// decoded when it is its turn, at most 24 of them at a time, in the order in which they have begun. A turn ends with
// the timeout of the request at the latest. The holder of a turn waits for no other bounded resource, so there is no
// deadlock. A Budget is safe for concurrent use.
type Budget struct {
	turns    chan struct{}
	decoding sync.Mutex // held while steps are decoded, which needs no turn
}

// NewBudget returns a budget of 128 MiB for the answers to 300 workers of a conductor: 24 answers have a turn, and of
// each other one less than 256 KiB are kept. Package conductor/api has the other 384 MiB of 512 MiB.
func NewBudget() *Budget { return &Budget{turns: make(chan struct{}, 24)} }

// readAnswer reads the body of an answer and calls decode with it. Texts are cut after 16 KiB. The timer ends the
// request; it stands still while the answer waits for its turn.
func (c *Client) readAnswer(ctx context.Context, from io.Reader, timer *time.Timer, decode func(body []byte) error) error {
	sent := &io.LimitedReader{R: from, N: min(c.config.MaxAnswer, math.MaxInt64-1) + 1}
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
		return c.invalidAnswer("The agent on node %s answers with more than %d bytes.", c.config.Node, c.config.MaxAnswer)
	case len(body) > maxKept:
		return c.invalidAnswer("The agent on node %s answers with more than %d bytes in texts of up to %d bytes.",
			c.config.Node, maxKept, maxText)
	}
	if values, depth := jsonsize.Measure(body); values > maxValues || depth > maxDepth {
		return c.invalidAnswer("The agent on node %s answers with more than %d values, or more than %d of them within each other.",
			c.config.Node, maxValues, maxDepth)
	}
	return decode(body)
}

// last returns the last commands of an answer: at most maxCommands, whose texts have at most maxResult bytes together.
// Only the very last one has its result. The token of the client is masked in the status, the error and the result,
// since an error may become the last error of the node, and a result a part of its record.
func (c *Client) last(commands []Command) ([]Command, error) {
	first, size := len(commands), 0
	for ; first > max(0, len(commands)-maxCommands); first-- {
		command := &commands[first-1]
		if first < len(commands) {
			command.Result = nil
		}
		command.Error, command.Result = withoutToken(c, command.Error), withoutToken(c, command.Result)
		command.Status = withoutToken(c, command.Status)
		size += len(command.ID) + len(command.Name) + len(command.Status) + len(command.Error) + len(command.Result)
		if size > maxResult {
			break
		}
	}
	if first == len(commands) && first > 0 {
		return nil, c.invalidAnswer("The agent on node %s reports a command with more than %d bytes.", c.config.Node, maxResult)
	}
	return slices.Clone(commands[first:]), nil
}

// minToken is the length of the shortest token that an agent accepts.
const minToken = 32

// withoutToken returns a text of the agent, or JSON, in which the token is masked.
func withoutToken[T ~string | ~[]byte](c *Client, text T) T {
	token := c.config.Token.Reveal()
	if len(token) < minToken || !strings.Contains(string(text), token) { // a shorter one may be a part of other words
		return text
	}
	return T(strings.ReplaceAll(string(text), token, masked.Secret))
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
