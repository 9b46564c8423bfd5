// SPDX-License-Identifier: Apache-2.0

package images_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor/hardware/images"
)

func TestAnswersSayWhatTheyAre(t *testing.T) {
	s, _ := start(t)
	location, err := s.Publish(node, ".iso", text("image"))
	require.NoError(t, err)
	require.NoError(t, s.PublishScripts(node, map[string]string{"52:54:00:00:00:01": "#!ipxe\n"}))
	at := strings.TrimSuffix(location, filepath.Base(location))
	for _, test := range []struct {
		method, location string
		status           int
		header, value    string
	}{
		{http.MethodGet, location, http.StatusOK, "Content-Type", "application/octet-stream"},
		{http.MethodHead, location, http.StatusOK, "Cache-Control", "no-store"},
		{http.MethodGet, at + "boot.ipxe", http.StatusOK, "Content-Type", "text/plain; charset=utf-8"},
		{http.MethodGet, at + "52-54-00-00-00-01.ipxe", http.StatusOK, "Cache-Control", "no-store"},
		{http.MethodPut, location, http.StatusMethodNotAllowed, "Allow", "GET, HEAD"},
	} {
		recorder := httptest.NewRecorder()
		s.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), test.method, test.location, nil))
		require.Equal(t, test.status, recorder.Code)
		require.Equal(t, test.value, recorder.Header().Get(test.header), "%v", test)
	}
}

// deadlines is a response that records its write deadline.
type deadlines struct {
	*httptest.ResponseRecorder
	until time.Time
}

func (d *deadlines) SetWriteDeadline(until time.Time) error {
	d.until = until
	return nil
}

func TestATransferMayTakeAsLongAsItsBytes(t *testing.T) {
	s, _ := start(t)
	for size, want := range map[int64]time.Duration{
		0: 2 * time.Minute, 128<<10 - 1: 2 * time.Minute, 128 << 10: 2*time.Minute + time.Second, 3600 << 17: 62 * time.Minute,
	} {
		location, err := s.Publish(node, ".iso", func(f *os.File) error { return f.Truncate(size) })
		require.NoError(t, err)
		w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
		before := time.Now()
		s.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodHead, location, nil))
		after := time.Now()
		require.False(t, w.until.Before(before.Add(want)) || w.until.After(after.Add(want)), "%d bytes: %v", size, w.until.Sub(before))
	}
}

func TestAScriptThatIsNoFileIsNotFound(t *testing.T) {
	s, folder := start(t)
	require.NoError(t, os.Mkdir(filepath.Join(folder, "published", node+"-52-54-00-00-00-01.ipxe"), 0o700))
	recorder := httptest.NewRecorder()
	s.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/images/52-54-00-00-00-01.ipxe", nil))
	require.Equal(t, http.StatusNotFound, recorder.Code)
}

func TestAFileThatCannotBePublishedLeavesNothing(t *testing.T) {
	s, folder := start(t)
	require.NoError(t, os.Rename(filepath.Join(folder, "published"), filepath.Join(folder, "moved")))
	require.Error(t, s.PublishScripts(node, map[string]string{"52:54:00:00:00:01": "#!ipxe\n"}))
	_, err := s.Publish(node, ".iso", text("image"))
	require.Error(t, err)
	left, err := os.ReadDir(s.Temporary())
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestEachLimitMustNotBeNegative(t *testing.T) {
	for _, c := range []images.Config{{MaxBytes: -1}, {MaxSource: -1}, {MaxTransfers: -1}} {
		c.Folder, c.URL = t.TempDir(), "http://192.0.2.1"
		_, err := images.New(c)
		require.ErrorContains(t, err, "is -1: want 0 or more")
	}
}
