// SPDX-License-Identifier: Apache-2.0

package secret_test

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/verify/secret"
)

const text = "hunter2"

type exported struct{ Secret secret.Text }

type unexported struct {
	secret  secret.Text
	list    []secret.Text
	byName  map[string]secret.Text
	pointer *secret.Text
	inside  exported
}

// holders returns values that hold the secret in every way.
func holders() []any {
	s := secret.New(text)
	hidden := unexported{s, []secret.Text{s}, map[string]secret.Text{"a": s}, &s, exported{s}}
	return []any{s, &s, exported{s}, &exported{s}, []any{s}, hidden, &hidden, []unexported{hidden}}
}

// requireHidden checks that an output does not contain the text, plain or in
// hexadecimal.
func requireHidden(t *testing.T, output string) {
	t.Helper()
	require.NotContains(t, output, text)
	require.NotContains(t, strings.ToLower(output), fmt.Sprintf("%x", text))
}

func TestNoPrinterShowsASecret(t *testing.T) {
	for _, holder := range holders() {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "% x", "%d", "%c", "%U", "%t", "%e", "%T", "%5.3s"} {
			requireHidden(t, fmt.Sprintf(verb, holder))
		}
		require.Contains(t, fmt.Sprint(holder), "***")
	}
}

// failures collects the messages of assertions that fail.
type failures struct{ strings.Builder }

func (f *failures) Errorf(format string, args ...any) { fmt.Fprintf(f, format, args...) }

// Testify prints differences by reflection: it follows pointers and calls no methods.
func TestNoAssertionThatFailsShowsASecret(t *testing.T) {
	for i, holder := range holders() {
		var failed failures
		require.False(t, assert.Equal(&failed, holder, i))
		other := unexported{secret: secret.New("another")}
		require.False(t, assert.Equal(&failed, unexported{secret: secret.New(text)}, other))
		requireHidden(t, failed.String())
	}
}

func TestNoLoggerShowsASecret(t *testing.T) {
	var out bytes.Buffer
	for _, handler := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
		for _, holder := range holders() {
			slog.New(handler).Info("made", "holder", holder)
		}
	}
	requireHidden(t, out.String())
	require.Contains(t, out.String(), "***")
}

func TestNoEncoderShowsASecret(t *testing.T) {
	for _, holder := range holders() {
		encoded, _ := json.Marshal(holder) // some are nothing to encode
		requireHidden(t, string(encoded))
		encoded, _ = xml.Marshal(holder)
		requireHidden(t, string(encoded))
		var out bytes.Buffer
		_ = gob.NewEncoder(&out).Encode(holder)
		requireHidden(t, out.String())
	}
	encoded, err := json.Marshal(exported{secret.New(text)})
	require.NoError(t, err)
	require.JSONEq(t, `{"Secret": "***"}`, string(encoded))
}

func TestASecretIsRead(t *testing.T) {
	var read exported
	require.NoError(t, json.Unmarshal([]byte(`{"Secret": "hunter2"}`), &read))
	require.Equal(t, text, read.Secret.Reveal())
	require.ErrorContains(t, json.Unmarshal([]byte(`{"Secret": "***"}`), &read), "not written down")
}

func TestTheZeroValueIsTheEmptySecret(t *testing.T) {
	var zero secret.Text
	require.True(t, zero.IsZero())
	require.Equal(t, zero, secret.New(""))
	require.Empty(t, zero.Reveal())
	require.Equal(t, "***", fmt.Sprint(zero))
	require.False(t, secret.New(text).IsZero())
}
