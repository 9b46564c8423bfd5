// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor/api"
	"github.com/ironstate/ironstate/states"
)

// TestExchanges sends the requests of testdata in order. The expected responses were recorded from a
// live Ironic 21.4.4, without the parts that differ between runs. The lines of a file are:
//
//	METHOD PATH VERSION [BODY]      a request; version - means none
//	= STATUS [LOCATION]             its expected status and Location header
//	fault TEXT                      its faultstring, with \n between lines
//	bare [TEXT]                     its description
//	is JSON                         its body, with TIME instead of times
//	has JSON                        fields of its body
//	set KEY                         a field of its body that is not null
//	keys KEY...                     the keys of its body, or of the first item of its list
//	count KEY NUMBER                the number of items in the list
//	wait NODE                       wait until the node has no work in flight
//	wait allocation NAME            wait until the allocation has a node or an error
func TestExchanges(t *testing.T) {
	s := start(t, states.Antelope, api.Config{})
	for _, name := range []string{
		"versions", "nodes", "patches", "lists", "states", "parts", "drivers", "chassis", "ports", "portgroups",
		"volumes", "templates", "allocations", "interfaces", "resources", "edges", "steps", "arguments",
		"nodeedges", "order", "segments",
	} {
		text, err := os.ReadFile(filepath.Join("testdata", name+".txt"))
		require.NoError(t, err)
		t.Run(name, func(t *testing.T) {
			s.t = t
			for _, exchange := range strings.Split(string(text), "\n\n") {
				s.exchange(t, name, exchange)
			}
		})
	}
}

func (s *server) exchange(t *testing.T, name, text string) {
	var a reply
	requested := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		word, rest, _ := strings.Cut(line, " ")
		message := []any{"%s: %s\nanswer: %d %s", name, requested, a.status, a.body}
		switch word {
		case "", "#":
		case "wait":
			if allocation, ok := strings.CutPrefix(rest, "allocation "); ok {
				s.waitAllocation(allocation)
			} else {
				s.wait(rest)
			}
		case "=":
			status, location, _ := strings.Cut(rest, " ")
			require.Equal(t, status, strconv.Itoa(a.status), message...)
			require.Equal(t, location, strings.TrimPrefix(a.header.Get("Location"), "http://HOST"), message...)
		case "fault", "bare":
			require.Equal(t, rest, strings.ReplaceAll(a.fault(), "\n", `\n`), message...)
			require.Equal(t, word == "fault", strings.Contains(a.body, "faultstring"), message...)
		case "is":
			require.JSONEq(t, rest, timePattern.ReplaceAllString(a.body, "TIME"), message...)
		case "has":
			var want map[string]any
			require.NoError(t, json.Unmarshal([]byte(rest), &want))
			for key, value := range want {
				require.Equal(t, value, a.json()[key], message...)
			}
		case "set":
			require.NotNil(t, a.json()[rest], message...)
		case "keys":
			require.Equal(t, strings.Fields(rest), keysOf(a.json()), message...)
		case "count":
			key, number, _ := strings.Cut(rest, " ")
			require.Equal(t, number, strconv.Itoa(len(a.json()[key].([]any))), message...)
		default:
			parts := append(strings.SplitN(line, " ", 4), "")
			version := strings.TrimPrefix(parts[2], "-")
			a, requested = s.do(parts[0], parts[1], version, parts[3]), line
		}
	}
}

var timePattern = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?\+00:00`)

// keysOf returns the sorted keys of an object. If the object has a list of objects, it returns
// the keys of the list's first item.
func keysOf(object map[string]any) (keys []string) {
	for _, value := range object {
		list, ok := value.([]any)
		if !ok || len(list) == 0 || len(object) > 2 {
			continue
		}
		if first, ok := list[0].(map[string]any); ok {
			object = first
			break
		}
	}
	for key := range object {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
