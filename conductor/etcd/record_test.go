// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
)

func TestARecordThatCannotBeStoredIsRefused(t *testing.T) {
	s, _ := scripted(t, &server{})
	many := strings.Fields(strings.Repeat("key ", 49))
	for name, c := range map[string]struct {
		record conductor.Record
		says   string
	}{
		"no kind":              {conductor.Record{ID: "a"}, `"" is not a kind`},
		"a kind with a slash":  {conductor.Record{Kind: "a/b", ID: "a"}, `"a/b" is not a kind`},
		"no ID":                {conductor.Record{Kind: "nodes"}, "has no ID"},
		"an empty key":         {conductor.Record{Kind: "nodes", ID: "a", Keys: []string{""}}, `"" is not a key`},
		"a key that is binary": {conductor.Record{Kind: "nodes", ID: "a", Keys: []string{"\xff"}}, `"\xff" is not a key`},
		"too many keys":        {conductor.Record{Kind: "nodes", ID: "a", Keys: many}, "has 49 keys, the maximum is 48"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := s.Create(t.Context(), c.record)
			require.ErrorContains(t, err, c.says)
			_, err = s.Update(t.Context(), c.record)
			require.ErrorContains(t, err, c.says)
		})
	}
}
