// SPDX-License-Identifier: Apache-2.0

// Package images publishes the boot images of nodes for their BMCs, over HTTP:
//
//	server, err := images.New(images.Config{Folder: "/var/lib/ironstate/images", URL: "http://192.0.2.1:6180/images"})
//	...
//	defer server.Close()
//	http.Handle("/images/", server)
//	url, err := server.Publish(node.UUID, ".iso", write)
//
// A [Server] serves the images that it has published and nothing else. Their names contain 128 random
// bits: an image may contain an agent's token, and BMCs cannot authenticate themselves.
//
// It also serves iPXE scripts, with names that machines know: boot.ipxe, and one for each MAC address, see
// [Server.PublishScripts].
package images

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/ironstate/ironstate/internal/configerror"
)

// Config configures a [Server].
type Config struct {
	// Folder is where the images are, and the files that file URLs may name, see
	// [Server.Fetch]. It must exist, and no other process may use it.
	Folder string
	// URL is the address at which others reach the Server: http or https, with or without a path.
	URL string
	// MaxBytes bounds all published images together; 0 stands for 256 GiB.
	MaxBytes int64
	// MaxSource bounds what [Server.Fetch] downloads; 0 stands for 2 GiB.
	MaxSource int64
	// MaxTransfers bounds the images that are served at the same time; 0 stands for 256.
	// Further requests are answered with 503.
	MaxTransfers int
	// Client downloads what Fetch is asked for; nil stands for [http.DefaultClient].
	Client *http.Client
}

// The folders below Config.Folder. That of unfinished images is emptied by New.
const (
	publishedFolder = "published"
	unfinished      = "unfinished"
)

// Server publishes images. Make it with [New], and Close it. It is safe for concurrent use.
type Server struct {
	config    Config
	path      string // of the URL, with a slash at its end
	published *os.Root
	transfers chan struct{}

	mu sync.Mutex // held while the published images change
}

// New returns a Server for a folder. Images that an earlier Server has published there stay published.
func New(c Config) (*Server, error) {
	at, err := url.Parse(c.URL)
	if err != nil {
		return nil, &configerror.Error{Package: "images", Field: "URL", Err: errors.New("it is malformed")} // the error of url.Parse repeats a password
	}
	switch {
	case at.Host == "", at.Scheme != "http" && at.Scheme != "https", at.User != nil, at.RawQuery != "", at.Fragment != "":
		return nil, &configerror.Error{Package: "images", Field: "URL", Value: at.Redacted(), Want: "a URL such as http://192.0.2.1:6180/images"}
	case c.MaxBytes < 0 || c.MaxSource < 0 || c.MaxTransfers < 0:
		return nil, &configerror.Error{Package: "images", Field: "MaxBytes, MaxSource or MaxTransfers", Value: min(c.MaxBytes, c.MaxSource, int64(c.MaxTransfers)), Want: "0 or more"}
	}
	c.URL = strings.TrimRight(c.URL, "/")
	for _, limit := range []struct {
		value *int64
		zero  int64
	}{{&c.MaxBytes, 256 << 30}, {&c.MaxSource, 2 << 30}} {
		if *limit.value == 0 {
			*limit.value = limit.zero
		}
	}
	if c.MaxTransfers == 0 {
		c.MaxTransfers = 256
	}
	if c.Client == nil {
		c.Client = http.DefaultClient
	}
	s := &Server{config: c, path: strings.TrimRight(at.Path, "/") + "/", transfers: make(chan struct{}, c.MaxTransfers)}
	if err := os.RemoveAll(s.Temporary()); err != nil {
		return nil, fmt.Errorf("images: %w", err)
	}
	for _, folder := range []string{s.Temporary(), filepath.Join(c.Folder, publishedFolder)} {
		if err := os.Mkdir(folder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("images: %w", err)
		}
	}
	if s.published, err = os.OpenRoot(filepath.Join(c.Folder, publishedFolder)); err != nil {
		return nil, fmt.Errorf("images: %w", err)
	}
	return s, nil
}

// Close releases the folder. Images stay in it.
func (s *Server) Close() error { return s.published.Close() }

// Temporary returns a folder for temporary files, on the file system of the images.
func (s *Server) Temporary() string { return filepath.Join(s.config.Folder, unfinished) }

// nodePattern matches what an image can be published for: a node's UUID.
var nodePattern = regexp.MustCompile(`^[0-9a-f-]{36}$`)

// namePattern matches the names of published images.
var namePattern = regexp.MustCompile(`^[0-9a-f-]{36}-[0-9a-f]{32}\.(iso|img|kernel|ramdisk)$`)

// Publish publishes what write writes to a file, and returns its URL. The node is a UUID, and the suffix
// ".iso", ".img", ".kernel" or ".ramdisk". It replaces the node's image with that suffix.
func (s *Server) Publish(node, suffix string, write func(*os.File) error) (location string, err error) {
	random := make([]byte, 16)
	_, _ = rand.Read(random) // it never fails
	name := node + "-" + hex.EncodeToString(random) + suffix
	if !namePattern.MatchString(name) {
		return "", fmt.Errorf("publish an image for %q with the suffix %q: want a UUID, and .iso, .img, .kernel or .ramdisk", node, suffix)
	}
	file, err := os.CreateTemp(s.Temporary(), "image-")
	if err != nil {
		return "", fmt.Errorf("publish an image: %w", err)
	}
	defer os.Remove(file.Name())
	if err := errors.Join(write(file), file.Close()); err != nil {
		return "", fmt.Errorf("publish an image: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.withdraw(node, suffix); err != nil {
		return "", err
	}
	size, err := s.size(file.Name())
	if err != nil {
		return "", fmt.Errorf("publish an image: %w", err)
	}
	if size > s.config.MaxBytes {
		return "", fmt.Errorf("publish an image: the published images would have %d bytes, and at most %d are allowed", size, s.config.MaxBytes)
	}
	if err := os.Rename(file.Name(), filepath.Join(s.published.Name(), name)); err != nil {
		return "", fmt.Errorf("publish an image: %w", err)
	}
	return s.config.URL + "/" + name, nil
}

// Withdraw removes the published images of a node with a suffix, or all of them if the suffix is empty. It is no error if
// there are none.
func (s *Server) Withdraw(node, suffix string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.withdraw(node, suffix)
}

// withdraw removes the published images of a node with a suffix.
func (s *Server) withdraw(node, suffix string) error {
	if !nodePattern.MatchString(node) {
		return fmt.Errorf("withdraw the images of %q: want a UUID", node)
	}
	entries, err := fs.ReadDir(s.published.FS(), ".")
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), node+"-") && strings.HasSuffix(e.Name(), suffix) {
			err = errors.Join(err, s.published.Remove(e.Name()))
		}
	}
	if err != nil {
		return fmt.Errorf("withdraw the images of node %s: %w", node, err)
	}
	return nil
}

// size returns the size of all published images and one more file.
func (s *Server) size(added string) (int64, error) {
	info, err := os.Stat(added)
	if err != nil {
		return 0, err
	}
	size := info.Size()
	entries, err := fs.ReadDir(s.published.FS(), ".")
	for _, e := range entries {
		if info, found := e.Info(); found == nil {
			size += info.Size()
		}
	}
	return size, err
}

// Published returns the URLs of a node's published images, sorted.
func (s *Server) Published(node string) ([]string, error) {
	entries, err := fs.ReadDir(s.published.FS(), ".")
	var locations []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), node+"-") {
			locations = append(locations, s.config.URL+"/"+e.Name())
		}
	}
	slices.Sort(locations)
	return locations, err
}
