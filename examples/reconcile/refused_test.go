package main

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestDelays(t *testing.T) {
	b := backoff{times: 5, first: time.Second, most: 5 * time.Second, longest: time.Minute}
	refused := func(after time.Duration) error {
		return &refusedError{what: "look", status: http.StatusConflict, after: after}
	}
	tests := []struct {
		nth   int
		after time.Duration
		want  time.Duration
	}{
		{1, 0, time.Second},
		{2, 0, 2 * time.Second},
		{3, 0, 4 * time.Second},
		{4, 0, 5 * time.Second},
		{5, 0, 5 * time.Second},
		{1, 500 * time.Millisecond, time.Second},
		{1, 7 * time.Second, 7 * time.Second},
		{5, time.Minute, time.Minute},
	}
	for _, test := range tests {
		got, err := b.delay(refused(test.after), test.nth)
		require.NoError(t, err)
		require.Equal(t, test.want, got, "%+v", test)
	}
	_, err := b.delay(refused(0), 6)
	require.EqualError(t, err, "refused 6 times in a row: look: 409 Conflict")
	_, err = b.delay(refused(61*time.Second), 1)
	require.EqualError(t, err, "asked to wait for 1m1s, which is longer than 1m0s: look: 409 Conflict")
	_, err = b.delay(http.ErrServerClosed, 1)
	require.ErrorIs(t, err, http.ErrServerClosed)
}

func TestRetryAfterIsReadInBothForms(t *testing.T) {
	now := time.Date(2026, 8, 20, 12, 0, 0, 0, time.UTC)
	for header, want := range map[string]time.Duration{
		"":                              0,
		"0":                             0,
		"120":                           2 * time.Minute,
		"-5":                            0,
		"soon":                          0,
		"99999999999999999999":          0,
		"Thu, 20 Aug 2026 12:00:30 GMT": 30 * time.Second,
		"Thu, 20 Aug 2026 11:00:00 GMT": 0,
	} {
		require.Equal(t, want, retryAfter(header, now), header)
	}
}

func TestTheTextOfAFault(t *testing.T) {
	for body, want := range map[string]string{
		`{"error_message": "{\"faultstring\": \"locked\"}"}`: "locked",
		`{"error_message": "{\"description\": \"denied\"}"}`: "denied",
		`{"error_message": {"faultstring": "locked"}}`:       "locked",
		`{"error_message": "plain"}`:                         "plain",
		`{"error_message": ["?"]}`:                           "",
		`{"other": 1}`:                                       "",
		`<html>a proxy says much</html>`:                     "",
		``:                                                   "",
	} {
		require.Equal(t, want, faultOf([]byte(body)), body)
	}
}
