// SPDX-License-Identifier: Apache-2.0

package images

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/ironstate/ironstate/conductor/internal/namedfile"
	"github.com/ironstate/ironstate/internal/errtext"
)

// The time that a download may take: of a source of a boot image, and of an image of up to Config.MaxBytes.
const (
	sourceTimeout = 15 * time.Minute
	imageTimeout  = 2 * time.Hour
)

// CheckSource returns an error unless [Server.Fetch] can fetch from a URL like this one. It downloads nothing.
func (s *Server) CheckSource(source string) error {
	_, _, err := s.source(source)
	return err
}

// source parses a source. The name is the file's in Config.Folder for a file URL, and empty otherwise.
func (s *Server) source(source string) (at *url.URL, name string, err error) {
	at, err = url.Parse(source)
	switch {
	case err != nil:
		return nil, "", errors.New("it is not a URL")
	case (at.Scheme == "http" || at.Scheme == "https") && at.Host != "":
		return at, "", nil
	case at.Scheme != "file" || at.Host != "":
		return nil, "", fmt.Errorf("the URL scheme %q is not supported, only http, https and file", at.Scheme)
	}
	name = filepath.Base(at.Path)
	if file, ok := s.File(name); !ok || filepath.Clean(at.Path) != filepath.FromSlash(file[len("file://"):]) {
		return nil, "", fmt.Errorf("the file %s is not one in the folder of images", name)
	}
	return at, name, nil
}

// File returns the URL of a file that the operator has put into the folder of images. The file may be a symbolic link,
// which must not lead out of the folder.
func (s *Server) File(name string) (source string, ok bool) {
	name = filepath.Base(name)
	file, err := namedfile.Open(s.folder, name)
	if err != nil {
		return "", false
	}
	_ = file.Close()
	return "file://" + filepath.ToSlash(filepath.Join(s.folder.Name(), name)), true
}

// Fetch returns the path of a new file in a folder with the content at a URL, see [Server.DownloadSource].
func (s *Server) Fetch(ctx context.Context, source, folder string) (path string, err error) {
	file, err := os.CreateTemp(folder, "source-")
	if err != nil {
		return "", err
	}
	defer func() {
		_ = file.Close()
		if path == "" { // also after a panic
			_ = os.Remove(file.Name())
		}
	}()
	if err := errors.Join(s.DownloadSource(ctx, source, file), file.Close()); err != nil {
		return "", err
	}
	return file.Name(), nil
}

// Download writes the content at a URL of up to most bytes. The URL is one that [Server.CheckSource] accepts: an http
// or https URL, or the file URL of a file in Config.Folder. Download waits while Config.MaxDownloads others run. A
// download ends with an error after 15 minutes. The errors contain no URL, since one may contain a secret.
func (s *Server) Download(ctx context.Context, source string, to io.Writer, most int64) error {
	return s.download(ctx, source, to, most, sourceTimeout)
}

// DownloadSource is [Server.Download] for a source of a boot image, of up to Config.MaxSource bytes.
func (s *Server) DownloadSource(ctx context.Context, source string, to io.Writer) error {
	return s.download(ctx, source, to, s.config.MaxSource, sourceTimeout)
}

// DownloadImage is [Server.Download] for an image of up to Config.MaxBytes, which may take two hours.
func (s *Server) DownloadImage(ctx context.Context, source string, to io.Writer) error {
	return s.download(ctx, source, to, s.config.MaxBytes, imageTimeout)
}

// download writes the content at a URL of up to most bytes within a time.
func (s *Server) download(ctx context.Context, source string, to io.Writer, most int64, timeout time.Duration) error {
	at, name, err := s.source(source)
	if err != nil {
		return err
	}
	select {
	case s.downloads <- struct{}{}:
		defer func() { <-s.downloads }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var from io.ReadCloser
	if name != "" {
		from, err = namedfile.Open(s.folder, name)
	} else {
		name = at.Host
		from, err = s.get(ctx, at, most)
	}
	if err != nil {
		return fmt.Errorf("download from %s: %w", name, err)
	}
	defer from.Close()
	n, err := io.Copy(to, io.LimitReader(&bounded{ctx, s, from, measureEvery}, most+1))
	if err == nil && n > most {
		err = fmt.Errorf("more than %d bytes, which is the most that is allowed", most)
	}
	if err != nil {
		return fmt.Errorf("download from %s: %w", name, err)
	}
	return nil
}

// get requests the content at a URL.
func (s *Server) get(ctx context.Context, at *url.URL, most int64) (io.ReadCloser, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, errors.New("it is not a URL")
	}
	answer, err := s.config.Client.Do(r)
	if err != nil {
		return nil, errtext.WithoutURL(err)
	}
	switch {
	case answer.StatusCode != http.StatusOK:
		err = fmt.Errorf("it answers %d", answer.StatusCode)
	case answer.ContentLength > most:
		err = fmt.Errorf("%d bytes, and at most %d are allowed", answer.ContentLength, most)
	default:
		return answer.Body, nil
	}
	_ = answer.Body.Close()
	return nil, err
}

// measureEvery is the number of bytes of a download after which the files are measured again; they are measured before
// it, too.
const measureEvery = 64 << 20

// bounded reads the content of a download until the context ends, or the files have more than Config.MaxBytes.
type bounded struct {
	ctx  context.Context
	s    *Server
	from io.Reader
	read int64 // since the files were measured
}

// Read implements [io.Reader].
func (b *bounded) Read(p []byte) (int, error) {
	if b.ctx.Err() != nil {
		return 0, context.Cause(b.ctx)
	}
	if b.read >= measureEvery {
		b.read = 0
		size, err := b.s.size()
		if err == nil && size > b.s.config.MaxBytes {
			err = b.s.tooLarge(size)
		}
		if err != nil {
			return 0, err
		}
	}
	n, err := b.from.Read(p)
	b.read += int64(n)
	return n, err
}

func (s *Server) tooLarge(size int64) error {
	return fmt.Errorf("the published images and the unfinished files would have %d bytes, and at most %d are allowed", size, s.config.MaxBytes)
}

// size returns the size of all published images and unfinished files.
func (s *Server) size() (size int64, err error) {
	for _, folder := range []string{publishedFolder, unfinished} {
		err := fs.WalkDir(s.folder.FS(), folder, func(_ string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return ignoreAbsent(err)
			}
			info, err := entry.Info()
			if err == nil {
				size += info.Size()
			}
			return ignoreAbsent(err)
		})
		if err != nil {
			return 0, err
		}
	}
	return size, nil
}

// ignoreAbsent returns nil for a file that has been removed meanwhile.
func ignoreAbsent(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
