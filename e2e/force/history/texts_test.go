// SPDX-License-Identifier: Apache-2.0

package history_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/e2e/force/history"
)

func TestAControlCharacterIsFoundWhereverItIs(t *testing.T) {
	for record, want := range map[string]string{
		`{"last_error": "no power: 95 °C", "version": 7, "maintenance": false, "extra": null, "traits": ["a"]}`: "",
		`{"agent": {"verify_ca": "-----BEGIN CERTIFICATE-----\n\tMII\r\n-----END"}}`:                            "",
		`{"agent": {"verify_ca": "-----BEGIN\u001b[2J"}}`:                                                       ".agent.verify_ca",
		`{"agent": {"version": "9.4\n3"}}`:                                                                      ".agent.version",
		`{"last_error": "a\u001b[2J"}`:                                                                          ".last_error",
		"{\"last_error\": \"a\u009b2J\"}":                                                                       ".last_error",
		"{\"last_error\": \"a\x7f\"}":                                                                           ".last_error",
		`{"last_error": "a\u202eb"}`:                                                                            ".last_error",
		`{"last_error": "a\u2028b"}`:                                                                            ".last_error",
		`{"last_error": "a\u0000b"}`:                                                                            ".last_error",
		`{"properties": {"cpu_arch": "x86_64\t"}}`:                                                              ".properties.cpu_arch",
		`{"agent": {"steps": {"clean": [1, {"step": "b\b"}]}}}`:                                                 ".agent.steps.clean[1].step",
		`{"inventory": {"cpu\u001b": 1}}`:                                                                       `.inventory."cpu\x1b"`,
		`{"other": {"agent": {"verify_ca": "a\nb"}}}`:                                                           ".other.agent.verify_ca",
		`["a", {"b": "\u0007"}]`:                                                                                "[1].b",
	} {
		where, err := history.ControlCharacter([]byte(record))
		require.NoError(t, err, record)
		require.Equal(t, want, where, record)
	}
	_, err := history.ControlCharacter([]byte(`{"a":`))
	require.Error(t, err)
}
