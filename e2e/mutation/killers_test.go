// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTheLastKillersRunFirstThenTheFastest(t *testing.T) {
	tests := []test{
		{name: "TestA", took: 10 * time.Millisecond}, {name: "TestB", took: 20 * time.Millisecond},
		{name: "TestC", took: 200 * time.Millisecond}, {name: "TestD", took: 300 * time.Millisecond},
		{name: "TestE", took: 2 * time.Second},
	}
	for name, c := range map[string]struct {
		failures []string
		want     [][]string
	}{
		"none yet": {nil, [][]string{{"TestA", "TestB"}, {"TestC", "TestD"}, {"TestE"}}},
		"quick":    {[]string{"--- FAIL: TestB (0.00s)"}, [][]string{{"TestB"}, {"TestA"}, {"TestC", "TestD"}, {"TestE"}}},
		"two": {[]string{"--- FAIL: TestB (0.00s)", "--- FAIL: TestD (0.30s)\n    --- FAIL: TestD/part (0.30s)"},
			[][]string{{"TestB", "TestD"}, {"TestA"}, {"TestC"}, {"TestE"}}},
		"slow":         {[]string{"--- FAIL: TestE (2.00s)"}, [][]string{{"TestA", "TestB"}, {"TestC", "TestD"}, {"TestE"}}},
		"no name":      {[]string{"panic: in a goroutine"}, [][]string{{"TestA", "TestB"}, {"TestC", "TestD"}, {"TestE"}}},
		"only reached": {[]string{"--- FAIL: TestZ (0.00s)"}, [][]string{{"TestA", "TestB"}, {"TestC", "TestD"}, {"TestE"}}},
		"four at the most": {[]string{"--- FAIL: TestA", "--- FAIL: TestA", "--- FAIL: TestB", "--- FAIL: TestW", "--- FAIL: TestX",
			"--- FAIL: TestY"}, [][]string{{"TestB"}, {"TestA"}, {"TestC", "TestD"}, {"TestE"}}},
	} {
		var k killers
		for _, output := range c.failures {
			k.add([]byte("some output\n" + output + "\nFAIL\n"))
		}
		var got [][]string
		for _, group := range k.first(tests) {
			var names []string
			for _, t := range group {
				names = append(names, t.name)
			}
			got = append(got, names)
		}
		require.Equal(t, c.want, got, name)
	}
}
