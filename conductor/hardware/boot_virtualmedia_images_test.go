// SPDX-License-Identifier: Apache-2.0

package hardware_test

import (
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	diskfile "github.com/diskfs/go-diskfs/backend/file"
	"github.com/diskfs/go-diskfs/filesystem/iso9660"
	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor/hardware"
	"github.com/ironstate/ironstate/conductor/hardware/images"
	"github.com/ironstate/ironstate/states"
)

// serveImages serves a folder of images, and the files of a ramdisk.
func serveImages(t *testing.T) (config hardware.Config, folder, files string) {
	t.Helper()
	var handler http.Handler
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/files/") {
			_, _ = io.WriteString(w, "content of "+r.URL.Path)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	folder = t.TempDir()
	client, err := images.NewClient("127.0.0.1")
	require.NoError(t, err)
	server, err := images.New(images.Config{Folder: folder, URL: web.URL + "/images", Client: client})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	handler = server
	return hardware.Config{Images: server, APIURL: "http://192.0.2.1:6385"}, folder, web.URL + "/files/"
}

// readImage downloads an image and returns its files, and the HTTP status of the download.
func readImage(t *testing.T, location string) (status int, contents map[string]string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, location, nil)
	require.NoError(t, err)
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer http.DefaultClient.CloseIdleConnections()
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return answer.StatusCode, nil
	}
	image, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return answer.StatusCode, readISO(t, image)
}

// readISO returns the files of an image.
func readISO(t *testing.T, image []byte) (contents map[string]string) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "image.iso")
	require.NoError(t, os.WriteFile(name, image, 0o600))
	file, err := os.Open(name)
	require.NoError(t, err)
	defer file.Close()
	system, err := iso9660.Read(diskfile.New(file, true), 0, 0, 0)
	require.NoError(t, err)
	contents = map[string]string{}
	require.NoError(t, fs.WalkDir(system, ".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			var content []byte
			content, err = fs.ReadFile(system, path)
			contents[path] = string(content)
		}
		return err
	}))
	return contents
}

func TestAReadyImageInTheFolderIsPublishedForTheBMC(t *testing.T) {
	config, folder, _ := serveImages(t)
	const content = "a ready image"
	require.NoError(t, os.WriteFile(filepath.Join(folder, "agent.iso"), []byte(content), 0o600))
	server := startRedfish(t)
	s := start(t, config)
	n := s.node(redfishMachine(server, t),
		withMedia(states.Available, "custom-agent", map[string]any{"deploy_iso": "file://" + folder + "/agent.iso"}, nil))
	n = s.request(n, "active")
	require.Equal(t, states.DeployWait, n.ProvisionState, n.LastError)
	answer, err := newClient().Get(server.Media("CD"))
	require.NoError(t, err)
	defer answer.Body.Close()
	published, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.Equal(t, content, string(published))
}
