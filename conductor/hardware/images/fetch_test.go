// SPDX-License-Identifier: Apache-2.0

package images_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor/hardware/images"
)

// requireEmpty requires that a folder has no files.
func requireEmpty(t *testing.T, folder string) {
	t.Helper()
	left, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Empty(t, left)
}

// SECURITY.md: A file URL names a file in the folder of images, and no symbolic link leads out of it.
func TestNoLinkLeadsOutOfTheFolderOfImages(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte("a secret"), 0o600))
	s, folder := start(t)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "kernel-6.1"), []byte("kernel"), 0o600))
	require.NoError(t, os.Symlink("kernel-6.1", filepath.Join(folder, "kernel")))
	path, err := s.Fetch(t.Context(), "file://"+folder+"/kernel", s.Temporary())
	require.NoError(t, err)
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "kernel", string(content))
	require.NoError(t, os.Remove(path))

	relative, err := filepath.Rel(folder, secret)
	require.NoError(t, err)
	for _, to := range []string{secret, relative, filepath.Dir(secret), "/proc/self/environ", "/dev/zero", "absent"} {
		link := filepath.Join(folder, "link")
		require.NoError(t, os.Symlink(to, link))
		_, ok := s.File("link")
		require.False(t, ok, to)
		require.ErrorContains(t, s.CheckSource("file://"+link), "is not one in the folder of images", to)
		_, err := s.Fetch(t.Context(), "file://"+link, s.Temporary())
		require.Error(t, err, to)
		require.NoError(t, os.Remove(link))
	}
	requireEmpty(t, s.Temporary())
}

// endless is a site whose files never end. It reports each request.
func endless(t *testing.T) (url string, asked chan struct{}) {
	asked = make(chan struct{}, 10)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	t.Cleanup(web.Close)
	return web.URL, asked
}

// SECURITY.md: The bytes, the number at a time and the time of downloads are bounded.
func TestDownloadsWaitForOthers(t *testing.T) {
	url, asked := endless(t)
	s, _ := start(t, func(c *images.Config) { c.MaxDownloads, c.Client = 1, newClient(t, "127.0.0.1") })
	first, cancelFirst := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- s.DownloadSource(first, url, io.Discard) }()
	<-asked
	second, cancelSecond := context.WithCancel(t.Context())
	go func() { ended <- s.DownloadSource(second, url, io.Discard) }()
	cancelSecond()
	require.ErrorIs(t, <-ended, context.Canceled)
	require.Empty(t, asked, "the second has sent no request")
	cancelFirst()
	require.ErrorIs(t, <-ended, context.Canceled)
}

// hangs is an http.RoundTripper whose requests end with their contexts.
type hangs struct{}

func (hangs) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// SECURITY.md: The bytes, the number at a time and the time of downloads are bounded.
func TestADownloadEndsInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := images.New(images.Config{Folder: t.TempDir(), URL: "http://192.0.2.1", Client: &http.Client{Transport: hangs{}}})
		require.NoError(t, err)
		defer s.Close()
		const url = "http://images.example/x"
		for name, test := range map[string]struct {
			download func() error
			want     time.Duration
		}{
			"a text":   {func() error { return s.Download(t.Context(), url, io.Discard, 1) }, 15 * time.Minute},
			"a source": {func() error { return s.DownloadSource(t.Context(), url, io.Discard) }, 15 * time.Minute},
			"an image": {func() error { return s.DownloadImage(t.Context(), url, io.Discard) }, 2 * time.Hour},
		} {
			began := time.Now()
			require.ErrorIs(t, test.download(), context.DeadlineExceeded, name)
			require.Equal(t, test.want, time.Since(began), "by the clock of the test")
		}
	})
}

// zeros is a site with files of a size.
func zeros(t *testing.T, size int64) string {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for block := make([]byte, 1<<20); size > 0; size -= int64(len(block)) {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	}))
	t.Cleanup(web.Close)
	return web.URL
}

// SECURITY.md: The bytes, the number at a time and the time of downloads are bounded.
func TestDownloadsAndPublishedImagesAreBoundedTogether(t *testing.T) {
	s, folder := start(t, func(c *images.Config) { c.MaxBytes, c.Client = 100<<20, newClient(t, "127.0.0.1") })
	other := filepath.Join(s.Temporary(), "node-1", "source-1") // as another download has it
	require.NoError(t, os.Mkdir(filepath.Dir(other), 0o700))
	require.NoError(t, os.WriteFile(other, nil, 0o600))
	require.NoError(t, os.Truncate(other, 60<<20))
	_, err := s.Publish(node, ".img", func(f *os.File) error { return s.DownloadImage(t.Context(), zeros(t, 90<<20), f) })
	require.ErrorContains(t, err, "and at most 104857600 are allowed")
	require.NoError(t, os.Truncate(other, 101<<20))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "kernel"), []byte("kernel"), 0o600))
	_, err = s.Fetch(t.Context(), "file://"+folder+"/kernel", filepath.Dir(other))
	require.ErrorContains(t, err, "would have 105906176 bytes, and at most 104857600 are allowed")
	require.NoError(t, os.RemoveAll(filepath.Dir(other)))
	requireEmpty(t, s.Temporary())
	_, err = s.Fetch(t.Context(), "file://"+folder+"/kernel", s.Temporary())
	require.NoError(t, err)
}

func TestARedirectToAMalformedURLHasNoTextOfIt(t *testing.T) {
	s, _ := start(t, func(c *images.Config) { c.Client = newClient(t, "127.0.0.1") })
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Location"] = []string{"http://user:a%20secret@[::1"}
		w.WriteHeader(http.StatusFound)
	}))
	t.Cleanup(web.Close)
	_, err := s.Fetch(t.Context(), web.URL, s.Temporary())
	require.ErrorContains(t, err, "it redirects to a malformed URL")
	require.NotContains(t, err.Error(), "secret")
	requireEmpty(t, s.Temporary())
}

// SECURITY.md: No file is held in memory while it is downloaded or built into an image.
func TestADownloadIsNotHeldInMemory(t *testing.T) {
	const size = 32 << 20
	s, _ := start(t, func(c *images.Config) { c.Client = newClient(t, "127.0.0.1") })
	url := zeros(t, size)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	path, err := s.Fetch(t.Context(), url, s.Temporary())
	runtime.ReadMemStats(&after)
	require.NoError(t, err)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(size/8), "with the 1 MiB of the server")
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.EqualValues(t, size, info.Size())
}

// panics is an http.RoundTripper that panics.
type panics struct{}

func (panics) RoundTrip(*http.Request) (*http.Response, error) { panic("a defect") }

// SECURITY.md: A download that fails, is cancelled or panics leaves no file, and the files of a killed process are
// removed at the next start.
func TestADownloadLeavesNoFile(t *testing.T) {
	url, asked := endless(t)
	s, folder := start(t, func(c *images.Config) { c.Client = newClient(t, "127.0.0.1") })
	for _, download := range []func(context.Context) error{
		func(ctx context.Context) error { _, err := s.Fetch(ctx, url, s.Temporary()); return err },
		func(ctx context.Context) error {
			_, err := s.Publish(node, ".img", func(f *os.File) error { return s.DownloadImage(ctx, url, f) })
			return err
		},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-asked; cancel() }()
		require.ErrorIs(t, download(ctx), context.Canceled)
		requireEmpty(t, s.Temporary())
	}
	require.NoError(t, s.Close())

	left := filepath.Join(folder, "unfinished", "node-1", "boot-image-1")
	require.NoError(t, os.MkdirAll(left, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(left, "grub.cfg"), []byte("a token"), 0o600))
	s, err := images.New(images.Config{Folder: folder, URL: "http://192.0.2.1", Client: &http.Client{Transport: panics{}}})
	require.NoError(t, err)
	defer s.Close()
	requireEmpty(t, s.Temporary())
	require.Panics(t, func() { _, _ = s.Fetch(t.Context(), url, s.Temporary()) })
	require.Panics(t, func() {
		_, _ = s.Publish(node, ".img", func(f *os.File) error { return s.DownloadImage(t.Context(), url, f) })
	})
	requireEmpty(t, s.Temporary())
}
