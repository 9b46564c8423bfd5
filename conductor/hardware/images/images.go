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
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/ironstate/ironstate/machine"
)

// Config configures a [Server].
type Config struct {
	// Folder is where the images are, and the files that file URLs may name, see
	// [Server.Fetch]. It must exist, and no other process may use it.
	Folder string
	// URL is the address at which others reach the Server: http or https, with or without a path.
	URL string
	// MaxBytes bounds all published images and unfinished files together; 0 stands for 256 GiB. A download under way
	// may exceed it by 64 MiB, and an image that is built of its parts by their size.
	MaxBytes int64
	// MaxSource bounds what [Server.Fetch] downloads; 0 stands for 2 GiB.
	MaxSource int64
	// MaxDownloads bounds the downloads at the same time; 0 stands for 16. Further ones wait.
	MaxDownloads int
	// MaxTransfers bounds the images that are served at the same time; 0 stands for 256.
	// Further requests are answered with 503.
	MaxTransfers int
	// Machines reports whether machines may have an address. Scripts, kernels, ramdisks and the images of instances
	// are served to these addresses only, since a script has a name that others can guess; nil serves them to all.
	// BMCs load ISO images, which are served to all.
	Machines func(netip.Addr) bool
	// Client downloads for Fetch and the Download methods; nil stands for the client of [NewClient] without hosts.
	Client *http.Client
}

// The folders below Config.Folder. New empties the folder of unfinished images.
const (
	publishedFolder = "published"
	unfinished      = "unfinished"
)

// Server publishes images. Make it with [New], and Close it. It is safe for concurrent use.
type Server struct {
	config    Config
	path      string // of the URL, with a slash at its end
	folder    *os.Root
	published *os.Root
	transfers chan struct{}
	downloads chan struct{}

	mu sync.Mutex // held while the published images change
}

// Check returns an error if [New] refuses the URL or a bound.
func (c Config) Check() error {
	at, err := url.Parse(c.URL)
	switch {
	case err != nil: // it repeats a password
		return &machine.ConfigError{Package: "images", Field: "URL", Err: errors.New("it is malformed")}
	case at.Host == "", at.Scheme != "http" && at.Scheme != "https", at.User != nil, at.RawQuery != "", at.Fragment != "":
		return &machine.ConfigError{Package: "images", Field: "URL", Value: at.Redacted(), Want: "a URL such as http://192.0.2.1:6180/images"}
	case c.MaxBytes < 0 || c.MaxSource < 0 || c.MaxTransfers < 0 || c.MaxDownloads < 0:
		return &machine.ConfigError{
			Package: "images", Field: "MaxBytes, MaxSource, MaxTransfers or MaxDownloads",
			Value: min(c.MaxBytes, c.MaxSource, int64(c.MaxTransfers), int64(c.MaxDownloads)), Want: "0 or more",
		}
	}
	return nil
}

// New returns a Server for a folder. Images that an earlier Server has published there stay published.
func New(c Config) (*Server, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	at, err := url.Parse(c.URL)
	if err != nil {
		return nil, err
	}
	c.URL = strings.TrimRight(c.URL, "/")
	c.MaxBytes, c.MaxSource = cmp.Or(c.MaxBytes, 256<<30), cmp.Or(c.MaxSource, 2<<30)
	c.MaxTransfers, c.MaxDownloads = cmp.Or(c.MaxTransfers, 256), cmp.Or(c.MaxDownloads, 16)
	if c.Client == nil {
		if c.Client, err = NewClient(); err != nil {
			return nil, err
		}
	}
	if c.Folder, err = filepath.Abs(c.Folder); err != nil {
		return nil, fmt.Errorf("images: %w", err)
	}
	s := &Server{
		config: c, path: strings.TrimRight(at.Path, "/") + "/",
		transfers: make(chan struct{}, c.MaxTransfers), downloads: make(chan struct{}, c.MaxDownloads),
	}
	if s.folder, err = os.OpenRoot(c.Folder); err != nil {
		return nil, fmt.Errorf("images: %w", err)
	}
	if err := s.openFolders(); err != nil {
		return nil, fmt.Errorf("images: %w", errors.Join(err, s.folder.Close()))
	}
	return s, nil
}

// openFolders empties the folder of unfinished files, which a killed process may have left, and opens the folder of
// published ones.
func (s *Server) openFolders() (err error) {
	if err := s.folder.RemoveAll(unfinished); err != nil {
		return err
	}
	for _, folder := range []string{unfinished, publishedFolder} {
		if err := s.folder.Mkdir(folder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	s.published, err = s.folder.OpenRoot(publishedFolder)
	return err
}

// Close releases the folder. Images stay in it.
func (s *Server) Close() error { return errors.Join(s.published.Close(), s.folder.Close()) }

// Temporary returns a folder for temporary files, on the file system of the images.
func (s *Server) Temporary() string { return filepath.Join(s.config.Folder, unfinished) }

// uuidLength is the length of the UUID of a node.
const uuidLength = 36

// nodePattern matches the UUID of a node.
var nodePattern = regexp.MustCompile(`^[0-9a-f-]{36}$`)

// namePattern matches the names of published images.
var namePattern = regexp.MustCompile(`^[0-9a-f-]{36}-[0-9a-f]{32}\.(iso|img|kernel|ramdisk)$`)

// Publish publishes what write writes to a file, and returns its URL. The node is a UUID, and the suffix ".iso",
// ".img", ".kernel" or ".ramdisk". It replaces the node's image with that suffix, which stays if there is an error
// before the new one is published.
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
	defer file.Close() // for the second time, unless write panics
	if err = write(file); err == nil {
		err = file.Sync() // no part of an image is served after a loss of power
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return "", fmt.Errorf("publish an image: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	old, err := s.imagesOf(node, suffix)
	if err != nil {
		return "", fmt.Errorf("publish an image: %w", err)
	}
	size, err := s.size()
	for _, image := range old {
		size -= image.Size()
	}
	if err == nil && size > s.config.MaxBytes {
		err = s.tooLarge(size)
	}
	if err == nil {
		err = s.moveToPublished(file, name)
	}
	if err == nil {
		if err = s.remove(old); err != nil {
			err = errors.Join(err, s.published.Remove(name))
		}
	}
	if err != nil {
		return "", fmt.Errorf("publish an image: %w", err)
	}
	return s.config.URL + "/" + name, nil
}

// moveToPublished moves a temporary file, which is on disk, to the published ones, and its new name is on disk when it
// returns: a machine may boot from it for as long as its instance exists. Readers see all of it or nothing.
func (s *Server) moveToPublished(file *os.File, name string) error {
	err := s.folder.Rename(filepath.Join(unfinished, filepath.Base(file.Name())), filepath.Join(publishedFolder, name))
	if err != nil {
		return err
	}
	if err := synchronize(s.published); err != nil {
		return errors.Join(err, s.published.Remove(name))
	}
	return nil
}

// synchronize stores the names in a folder on its disk.
func synchronize(folder *os.Root) error {
	file, err := folder.Open(".")
	if err != nil {
		return err
	}
	defer file.Close()
	return file.Sync()
}

// Withdraw removes the published images of a node with a suffix, or all of them if the suffix is empty. It is no error
// if there are none.
func (s *Server) Withdraw(node, suffix string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !nodePattern.MatchString(node) {
		return fmt.Errorf("withdraw the images of %q: want a UUID", node)
	}
	images, err := s.imagesOf(node, suffix)
	if err = errors.Join(err, s.remove(images)); err != nil {
		return fmt.Errorf("withdraw the images of node %s: %w", node, err)
	}
	return nil
}

// imagesOf returns the published images of a node with a suffix.
func (s *Server) imagesOf(node, suffix string) (images []fs.FileInfo, err error) {
	entries, err := fs.ReadDir(s.published.FS(), ".")
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), node+"-") || !strings.HasSuffix(e.Name(), suffix) {
			continue
		}
		info, failed := e.Info()
		if failed != nil {
			err = errors.Join(err, failed)
			continue
		}
		images = append(images, info)
	}
	return images, err
}

// remove removes published images.
func (s *Server) remove(images []fs.FileInfo) (err error) {
	for _, image := range images {
		err = errors.Join(err, s.published.Remove(image.Name()))
	}
	return err
}

// Nodes returns the UUIDs of the nodes for which something is published, sorted.
func (s *Server) Nodes() ([]string, error) {
	entries, err := fs.ReadDir(s.published.FS(), ".") // sorted
	var nodes []string
	for _, e := range entries {
		node := e.Name()[:min(len(e.Name()), uuidLength)]
		if nodePattern.MatchString(node) && !slices.Contains(nodes[max(len(nodes)-1, 0):], node) {
			nodes = append(nodes, node)
		}
	}
	return nodes, err
}

// Published returns the URLs of a node's published images, sorted.
func (s *Server) Published(node string) ([]string, error) {
	entries, err := fs.ReadDir(s.published.FS(), ".") // sorted
	var locations []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), node+"-") {
			locations = append(locations, s.config.URL+"/"+e.Name())
		}
	}
	return locations, err
}
