// SPDX-License-Identifier: Apache-2.0

package images_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor/hardware/images"
	"github.com/ironstate/ironstate/internal/leaks"
)

func TestMain(m *testing.M) { leaks.Main(m) }

const (
	node  = "1be26c0b-03f2-4d2e-ae87-c02d7f33c123"
	other = "2be26c0b-03f2-4d2e-ae87-c02d7f33c123"
)

// start serves a new folder.
func start(t *testing.T, set ...func(*images.Config)) (s *images.Server, folder string) {
	t.Helper()
	var handler http.Handler
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.ServeHTTP(w, r) }))
	t.Cleanup(web.Close)
	folder = t.TempDir()
	c := images.Config{Folder: folder, URL: web.URL + "/images/"}
	for _, set := range set {
		set(&c)
	}
	s, err := images.New(c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	handler = s
	return s, folder
}

// text returns a function that writes a text.
func text(content string) func(*os.File) error {
	return func(f *os.File) error { _, err := f.WriteString(content); return err }
}

// get sends a GET with a header such as "Range: bytes=1-2", or with none for "".
func get(t *testing.T, location, header string) (status int, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, location, nil)
	require.NoError(t, err)
	if name, value, ok := strings.Cut(header, ": "); ok {
		r.Header.Set(name, value)
	}
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer answer.Body.Close()
	defer http.DefaultClient.CloseIdleConnections()
	content, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return answer.StatusCode, string(content)
}

func TestAPublishedImageIsServedUntilItIsWithdrawn(t *testing.T) {
	s, folder := start(t)
	first, err := s.Publish(node, ".iso", text("first image"))
	require.NoError(t, err)
	require.Regexp(t, `^http://127\.0\.0\.1:\d+/images/`+node+`-[0-9a-f]{32}\.iso$`, first)
	status, body := get(t, first, "")
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "first image", body)
	status, body = get(t, first, "Range: bytes=6-")
	require.Equal(t, http.StatusPartialContent, status)
	require.Equal(t, "image", body)

	second, err := s.Publish(node, ".iso", text("second image"))
	require.NoError(t, err)
	floppy, err := s.Publish(node, ".img", text("floppy"))
	require.NoError(t, err)
	others, err := s.Publish(other, ".iso", text("another node's"))
	require.NoError(t, err)
	published, err := s.Published(node)
	require.NoError(t, err)
	require.ElementsMatch(t, []string{second, floppy}, published)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "published", "notes.txt"), nil, 0o600))
	nodes, err := s.Nodes()
	require.NoError(t, err)
	require.ElementsMatch(t, []string{node, other}, nodes)
	status, _ = get(t, first, "")
	require.Equal(t, http.StatusNotFound, status, "the second replaces it")

	again, err := images.New(images.Config{Folder: folder, URL: strings.TrimSuffix(second, "/"+filepath.Base(second))})
	require.NoError(t, err)
	defer again.Close()
	published, err = again.Published(node)
	require.NoError(t, err)
	require.Len(t, published, 2, "a restart keeps them")

	require.NoError(t, s.Withdraw(node, ""))
	require.NoError(t, s.Withdraw(node, ""))
	for _, location := range []string{second, floppy} {
		status, _ = get(t, location, "")
		require.Equal(t, http.StatusNotFound, status)
	}
	status, _ = get(t, others, "")
	require.Equal(t, http.StatusOK, status)
}

func TestNothingElseIsServed(t *testing.T) {
	s, folder := start(t)
	location, err := s.Publish(node, ".iso", text("image"))
	require.NoError(t, err)
	at := strings.TrimSuffix(location, "/"+filepath.Base(location))
	secret := node + "-" + strings.Repeat("0", 32) + ".iso"
	require.NoError(t, os.WriteFile(filepath.Join(folder, secret), []byte("x"), 0o600))
	require.NoError(t, os.Symlink(filepath.Join(folder, secret), filepath.Join(folder, "published", secret)))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "published", "notes.txt"), []byte("x"), 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(folder, "published", node+"-"+strings.Repeat("1", 32)+".iso"), 0o700))
	for _, path := range []string{
		"", "/", "/..", "/../" + secret, "/%2e%2e/" + secret, "/..%2f" + secret, "/" + secret, "/notes.txt", "/published/",
		"//" + filepath.Base(location),
		"/" + node + "-" + strings.Repeat("1", 32) + ".iso", "/" + filepath.Base(location) + "/", "/" + filepath.Base(location) + "%00",
	} {
		recorder := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, at+path, nil)
		s.ServeHTTP(recorder, r)
		require.Equal(t, http.StatusNotFound, recorder.Code, path)
		require.NotContains(t, recorder.Body.String(), node, path)
	}
	recorder := httptest.NewRecorder()
	s.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodPut, location, strings.NewReader("x")))
	require.Equal(t, http.StatusMethodNotAllowed, recorder.Code)
}

func TestImagesAreBounded(t *testing.T) {
	s, folder := start(t, func(c *images.Config) { c.MaxBytes = 20 })
	_, err := s.Publish(node, ".iso", text("0123456789"))
	require.NoError(t, err)
	_, err = s.Publish(node, ".iso", text("01234567890123456789"))
	require.NoError(t, err, "it replaces the first")
	_, err = s.Publish(node, ".iso", text("012345678901234567890"))
	require.ErrorContains(t, err, "would have 21 bytes")
	published, err := s.Published(node)
	require.NoError(t, err)
	require.Len(t, published, 1, "the image stays that cannot be replaced")
	_, err = s.Publish(other, ".iso", text("0"))
	require.ErrorContains(t, err, "the published images and the unfinished files would have 21 bytes, and at most 20 are allowed")
	_, err = s.Publish(other, ".iso", func(*os.File) error { return io.ErrUnexpectedEOF })
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	for _, wrong := range []string{"", "node-1", "../" + node, strings.ToUpper(node)} {
		_, err = s.Publish(wrong, ".iso", text("0"))
		require.ErrorContains(t, err, "want a UUID")
		require.ErrorContains(t, s.Withdraw(wrong, ""), "want a UUID")
	}
	_, err = s.Publish(node, ".exe", text("0"))
	require.ErrorContains(t, err, "want a UUID, and .iso, .img, .kernel or .ramdisk")
	left, err := os.ReadDir(filepath.Join(folder, "unfinished"))
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestTransfersAreBounded(t *testing.T) {
	s, _ := start(t, func(c *images.Config) { c.MaxTransfers = 1 })
	location, err := s.Publish(node, ".iso", text("image"))
	require.NoError(t, err)
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, location, nil)
	blocked := &nested{ResponseRecorder: httptest.NewRecorder()}
	blocked.during = func() {
		recorder := httptest.NewRecorder()
		s.ServeHTTP(recorder, request)
		require.Equal(t, http.StatusServiceUnavailable, recorder.Code)
		require.Equal(t, "5", recorder.Header().Get("Retry-After"))
	}
	s.ServeHTTP(blocked, request)
	require.Equal(t, "image", blocked.Body.String())
	status, _ := get(t, location, "")
	require.Equal(t, http.StatusOK, status, "afterwards")
}

// nested is a ResponseWriter that calls during at its first write.
type nested struct {
	*httptest.ResponseRecorder
	during func()
}

func (n *nested) Write(p []byte) (int, error) {
	if n.during != nil {
		n.during()
		n.during = nil
	}
	return n.ResponseRecorder.Write(p)
}

// SECURITY.md: The bytes, the number at a time and the time of downloads are bounded.
func TestSourcesAreDownloadedOrInTheFolder(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/kernel":
			_, _ = io.WriteString(w, "0123456789")
		case "/long":
			w.Header().Set("Content-Length", "11")
			_, _ = io.WriteString(w, "01234567890")
		case "/endless":
			for range 11 {
				_, _ = io.WriteString(w, "0")
				w.(http.Flusher).Flush()
			}
		default:
			http.NotFound(w, r)
		}
	}))
	defer web.Close()
	s, folder := start(t, func(c *images.Config) { c.MaxSource, c.Client = 10, newClient(t, "127.0.0.1") })
	into := t.TempDir()
	path, err := s.Fetch(t.Context(), web.URL+"/kernel?signature=secret", into)
	require.NoError(t, err)
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "0123456789", string(content))
	require.Equal(t, into, filepath.Dir(path))

	kernel := filepath.Join(folder, "ipa.kernel")
	require.NoError(t, os.WriteFile(kernel, []byte("kernel"), 0o600))
	require.NoError(t, s.CheckSource("file://"+kernel))
	location, ok := s.File("ipa.kernel")
	require.True(t, ok)
	require.Equal(t, "file://"+kernel, location)
	path, err = s.Fetch(t.Context(), location, into)
	require.NoError(t, err)
	content, err = os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "kernel", string(content))
	require.NoError(t, os.Remove(path))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "long"), make([]byte, 11), 0o600))
	for source, want := range map[string]string{
		web.URL + "/absent?signature=secret":                             "it answers 404",
		web.URL + "/long":                                                "11 bytes, and at most 10 are allowed",
		web.URL + "/endless":                                             "more than 10 bytes",
		"http://127.0.0.1:1/kernel?signature=secret":                     "connection refused",
		"file://" + folder + "/long":                                     "more than 10 bytes",
		"ftp://192.0.2.1/kernel":                                         `the URL scheme "ftp" is not supported`,
		"8c9a4f12-8f9a-4a1f-8f1e-0a4d0f1d2c3b":                           `the URL scheme "" is not supported`,
		"file:///etc/passwd":                                             "the file passwd is not one in the folder of images",
		"file://" + folder + "/published":                                "is not one in the folder",
		"file://" + folder + "/../" + filepath.Base(folder) + "/missing": "is not one in the folder",
		"http://%zz":                                                     "it is not a URL",
	} {
		_, err := s.Fetch(t.Context(), source, into)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "secret")
	}
	left, err := os.ReadDir(into)
	require.NoError(t, err)
	require.Len(t, left, 1, "the first; a failed download leaves nothing")
}

func newClient(t *testing.T, hosts ...string) *http.Client {
	t.Helper()
	client, err := images.NewClient(hosts...)
	require.NoError(t, err)
	return client
}

func TestAWrongConfigurationIsRefused(t *testing.T) {
	for location, want := range map[string]string{
		"":                               `URL is ""`,
		"192.0.2.1:6180":                 "malformed",
		"ftp://192.0.2.1":                "ftp",
		"http://user:secret@192.0.2.1":   "user:xxxxx",
		"http://user:secret@192.0.2.1:x": "malformed",
		"http://192.0.2.1/?a=b":          "a=b",
		"http:///images":                 "http:///images",
	} {
		_, err := images.New(images.Config{Folder: t.TempDir(), URL: location})
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "secret")
	}
	_, err := images.New(images.Config{Folder: t.TempDir(), URL: "http://192.0.2.1", MaxBytes: -1})
	require.ErrorContains(t, err, "is -1: want 0 or more")
	_, err = images.New(images.Config{Folder: filepath.Join(t.TempDir(), "absent"), URL: "http://192.0.2.1"})
	require.ErrorIs(t, err, os.ErrNotExist)
}
