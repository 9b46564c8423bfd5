// SPDX-License-Identifier: Apache-2.0

package images

import (
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// open returns a Server for a new folder.
func open(t *testing.T, c Config) (s *Server, folder string) {
	t.Helper()
	folder = t.TempDir()
	c.Folder, c.URL = folder, "http://192.0.2.1"
	s, err := New(c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s, folder
}

func TestRequestsForDownloadsHaveLimits(t *testing.T) {
	client, err := NewClient("127.0.0.1")
	require.NoError(t, err)
	for _, transport := range []http.RoundTripper{client.Transport.(*route).direct, client.Transport.(*route).proxied} {
		limits := transport.(*http.Transport)
		require.Equal(t, 30*time.Second, limits.TLSHandshakeTimeout)
		require.Equal(t, time.Minute, limits.ResponseHeaderTimeout)
		require.True(t, limits.DisableKeepAlives)
	}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/long" {
			w.Header().Set("A", strings.Repeat("a", 65<<10))
		}
		_, _ = io.WriteString(w, r.Header.Get("Accept-Encoding"))
	}))
	defer web.Close()
	_, err = client.Get(web.URL + "/long")
	require.ErrorContains(t, err, "server response headers exceeded 65536 bytes")
	answer, err := client.Get(web.URL)
	require.NoError(t, err)
	defer answer.Body.Close()
	encodings, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.Empty(t, string(encodings), "the content is taken as it is")
}

func TestAHostIsAllowedHoweverItIsWritten(t *testing.T) {
	allowed := allowedHosts{"images.example": true, "[2001:db8::1]:80": true}
	require.True(t, allowed.has("Images.EXAMPLE", "8080"))
	require.True(t, allowed.has("2001:DB8:0::1", "80"))
	require.False(t, allowed.has("2001:db8::1", "81"))
}

func TestAFileIsInTheFolderItself(t *testing.T) {
	s, folder := open(t, Config{})
	require.NoError(t, os.Mkdir(filepath.Join(folder, "below"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "below", "kernel"), []byte("kernel"), 0o600))
	_, ok := s.File("below/kernel")
	require.False(t, ok)
}

func TestADownloadThatHasEndedMakesRoomForOthers(t *testing.T) {
	s, folder := open(t, Config{MaxDownloads: 1})
	require.NoError(t, os.WriteFile(filepath.Join(folder, "kernel"), []byte("kernel"), 0o600))
	for range 2 {
		require.NoError(t, s.DownloadSource(t.Context(), "file://"+folder+"/kernel", io.Discard))
	}
}

func TestAFailedDownloadNamesTheHost(t *testing.T) {
	web := httptest.NewServer(http.NotFoundHandler())
	defer web.Close()
	client, err := NewClient("127.0.0.1")
	require.NoError(t, err)
	s, _ := open(t, Config{Client: client})
	err = s.DownloadSource(t.Context(), web.URL+"/secret", io.Discard)
	require.EqualError(t, err, "download from "+web.Listener.Addr().String()+": it answers 404")
}

// writes calls a function before each write.
type writes func()

func (w writes) Write(p []byte) (int, error) {
	w()
	return len(p), nil
}

func TestADownloadEndsIfTheFilesBecomeTooLargeMeanwhile(t *testing.T) {
	const most = measureEvery * 2
	s, folder := open(t, Config{MaxBytes: most})
	source, other := filepath.Join(folder, "kernel"), filepath.Join(s.Temporary(), "other")
	for _, name := range []string{source, other} {
		require.NoError(t, os.WriteFile(name, nil, 0o600))
		require.NoError(t, os.Truncate(name, most))
	}
	require.NoError(t, s.DownloadImage(t.Context(), "file://"+source, io.Discard), "as many as permitted")
	grows := writes(func() { require.NoError(t, os.Truncate(other, most+1)) })
	require.ErrorContains(t, s.DownloadImage(t.Context(), "file://"+source, grows),
		"would have 134217729 bytes, and at most 134217728 are allowed")
}

func TestAFileThatIsRemovedMeanwhileIsNoError(t *testing.T) {
	other := errors.New("another error")
	require.NoError(t, ignoreAbsent(&fs.PathError{Err: fs.ErrNotExist}))
	require.Equal(t, other, ignoreAbsent(other))
	require.NoError(t, ignoreAbsent(nil))
}
