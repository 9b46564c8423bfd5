// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/states"
)

func TestTheHTTPStatusOfAnError(t *testing.T) {
	_, unknown := states.Parse("nonsense")
	for _, c := range []struct {
		err  error
		want int
	}{
		{refuse(Locked, "locked"), 409},
		{refuse(NoWorker, "busy: %w", errShutdown), 503},
		{&Error{Text: "no reason"}, 500},
		{fmt.Errorf("wrapped: %w", &powersync.RefusedError{PowerOffDisabled: true}), 409},
		{&powersync.RefusedError{}, 400},
		{powersync.ErrLocked, 409},
		{powersync.ErrNotFound, 404},
		{unknown, 400},
		{states.ErrNotAllowed, 400},
		{errors.New("another"), 500},
	} {
		require.Equal(t, c.want, HTTPStatus(c.err), "%v", c.err)
	}
}

func TestARefusalMatchesItsReasonAndItsCause(t *testing.T) {
	err := refuse(NoWorker, "node %s: %w", "a", errShutdown)
	require.EqualError(t, err, "node a: the conductor was stopped")
	require.ErrorIs(t, err, NoWorker)
	require.ErrorIs(t, err, errShutdown)
	require.Nil(t, refuse(NoWorker, "node %s", "a").Err)
}

func TestTheSettingsOfABIOSStep(t *testing.T) {
	setting := func(name, value any) map[string]any { return map[string]any{"name": name, "value": value} }
	for name, c := range map[string]struct {
		argument any
		want     []BIOSSetting // nil for an error
	}{
		"text":             {[]any{setting("a", "b")}, []BIOSSetting{{Name: "a", Value: "b"}}},
		"no text":          {[]any{setting("a", true), setting("b", nil)}, []BIOSSetting{{Name: "a", Value: "True"}, {Name: "b", Value: "None"}}},
		"empty":            {[]any{}, []BIOSSetting{}},
		"no list":          {setting("a", "b"), nil},
		"no object":        {[]any{"a"}, nil},
		"name of a number": {[]any{setting(1, "b")}, nil},
		"without name":     {[]any{map[string]any{"value": "b"}}, nil},
		"without value":    {[]any{map[string]any{"name": "a"}}, nil},
		"the first is bad": {[]any{"a", setting("a", "b")}, nil},
		"the last is bad":  {[]any{setting("a", "b"), "a"}, nil},
	} {
		got, err := biosSettings(c.argument)
		require.Equal(t, c.want, got, name)
		if c.want == nil {
			require.ErrorContains(t, err, "is not a list of objects with a name and a value", name)
		} else {
			require.NoError(t, err, name)
		}
	}
}
