// SPDX-License-Identifier: Apache-2.0

package lockstep

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/ironstate/ironstate/internal/sleep"
	"github.com/ironstate/ironstate/internal/try"
	"github.com/ironstate/ironstate/states"
)

// History returns the severity and the event type of each entry of a node's history, oldest first.
func (c *Client) History(ctx context.Context, v states.APIVersion, uuid string) []string {
	answer := c.do(ctx, v, http.MethodGet, "/"+uuid+"/history?detail=true", nil)
	var list struct {
		History []struct {
			Severity string
			Type     string `json:"event_type"`
		}
	}
	try.OKf(json.Unmarshal(answer.Body, &list), "lockstep: a node's history")
	entries := []string{}
	for _, entry := range list.History {
		entries = append(entries, entry.Severity+" "+entry.Type)
	}
	return entries
}

// historyTimeout bounds the time between the end of work and its entry in the history. Ironic stores
// the entry before the transition in most places, and ironstate after it. Nothing tells that no entry
// comes any more: only a history that lacks one takes this long.
const historyTimeout = 5 * time.Minute

// compareHistories compares the histories of the node.
func (l *life) compareHistories(ctx context.Context, what string) *Difference {
	deadline := time.Now().Add(historyTimeout)
	return await(ctx, 10*time.Millisecond, func() (*Difference, bool) {
		want := l.ironic.Client.History(ctx, l.ironic.newest(), l.uuid)
		got := l.service.Client.History(ctx, l.ironic.newest(), l.uuid)
		if slices.Equal(want, got) {
			return nil, true
		}
		found := &Difference{what + ", history", fmt.Sprint(want), fmt.Sprint(got)}
		return found, len(want) == len(got) || time.Now().After(deadline)
	})
}

// await calls f until it reports true, and returns its value. It pauses between two calls.
func await[T any](ctx context.Context, pause time.Duration, f func() (T, bool)) T {
	return try.Get(sleep.Until(ctx, pause, func() (T, bool, error) {
		value, done := f()
		return value, done, nil
	}))
}
