// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/states"
)

func TestAResultThatCannotBeStoredIsAFailure(t *testing.T) {
	tooLarge := errors.New("too large")
	edit := func(*Node) {}
	for name, test := range map[string]struct {
		result result
		edits  bool
	}{
		"a success":          {result{event: states.EventDone, edit: edit}, false},
		"a tear-down":        {result{event: states.EventDone, edit: edit, always: true}, true},
		"a failure":          {result{event: states.EventFail, edit: edit}, true},
		"the end of steps":   {result{event: states.EventDone, stepsDone: true}, false},
		"a wait":             {result{event: states.EventWait, edit: edit}, false},
		"it is called again": {result{event: states.EventDone, edit: edit, always: true}.unless(tooLarge), true},
	} {
		got := test.result.unless(tooLarge)
		require.Equal(t, states.EventFail, got.event, name)
		require.Equal(t, tooLarge, got.err, name)
		require.Equal(t, test.edits, got.edit != nil, name)
		require.False(t, got.stepsDone, name)
	}
}

func TestTimesAreTheSameIfBothOrNeitherAreKnown(t *testing.T) {
	early, same, late := time.Unix(1, 0), time.Unix(1, 0), time.Unix(2, 0)
	for name, test := range map[string]struct {
		a, b *time.Time
		want bool
	}{
		"neither": {nil, nil, true}, "only the second": {nil, &early, false}, "only the first": {&early, nil, false},
		"equal": {&early, &same, true}, "different": {&early, &late, false},
	} {
		require.Equal(t, test.want, sameTime(test.a, test.b), name)
	}
}
