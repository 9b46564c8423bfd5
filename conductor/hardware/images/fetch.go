// SPDX-License-Identifier: Apache-2.0

package images

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"
)

// fetchTimeout bounds the download of a source.
const fetchTimeout = 15 * time.Minute

// CheckSource returns an error unless [Server.Fetch] can fetch from a URL like this one. It downloads nothing.
func (s *Server) CheckSource(source string) error {
	_, _, err := s.source(source)
	return err
}

// source parses a source. The path is that of a file URL, and empty otherwise.
func (s *Server) source(source string) (at *url.URL, path string, err error) {
	at, err = url.Parse(source)
	switch {
	case err != nil:
		return nil, "", errors.New("it is not a URL")
	case (at.Scheme == "http" || at.Scheme == "https") && at.Host != "":
		return at, "", nil
	case at.Scheme != "file" || at.Host != "":
		return nil, "", fmt.Errorf("the URL scheme %q is not supported, only http, https and file", at.Scheme)
	}
	path, ok := s.File(filepath.Base(at.Path))
	if !ok || filepath.Clean(at.Path) != path {
		return nil, "", fmt.Errorf("the file %s is not one in the folder of images", filepath.Base(at.Path))
	}
	return at, path, nil
}

// File returns the path of a file in the folder of images that the operator has put there.
func (s *Server) File(name string) (path string, ok bool) {
	path, err := filepath.Abs(filepath.Join(s.config.Folder, filepath.Base(name)))
	if err != nil {
		return "", false
	}
	info, err := os.Stat(path)
	return path, err == nil && info.Mode().IsRegular()
}

// Fetch returns the path of a file with the content at a URL. It downloads http and https URLs into
// a folder. A file URL must name a file in Config.Folder, and Fetch returns that file's path. The errors
// contain no URL, since one may contain a secret.
func (s *Server) Fetch(ctx context.Context, source, folder string) (path string, err error) {
	_, path, err = s.source(source)
	if err != nil || path != "" {
		return path, err
	}
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	file, err := os.CreateTemp(folder, "source-")
	if err != nil {
		return "", err
	}
	if err := errors.Join(s.Download(ctx, source, file, s.config.MaxSource), file.Close()); err != nil {
		_ = os.Remove(file.Name())
		return "", err
	}
	return file.Name(), nil
}

// Download writes the content at a URL, which is one that [Server.CheckSource] accepts. The content may have most bytes; 0
// stands for Config.MaxBytes. The errors contain no URL, since one may contain a secret.
func (s *Server) Download(ctx context.Context, source string, to io.Writer, most int64) error {
	at, path, err := s.source(source)
	if err != nil {
		return err
	}
	if most == 0 {
		most = s.config.MaxBytes
	}
	name, from := at.Host, io.Reader(nil)
	if path != "" {
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		defer file.Close()
		name, from = filepath.Base(path), file
	} else {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
		if err != nil {
			return errors.New("it is not a URL")
		}
		answer, err := s.config.Client.Do(r)
		if known := new(url.Error); errors.As(err, &known) {
			err = known.Err
		}
		if err != nil {
			return fmt.Errorf("download from %s: %w", name, err)
		}
		defer answer.Body.Close()
		switch {
		case answer.StatusCode != http.StatusOK:
			return fmt.Errorf("download from %s: it answers %d", name, answer.StatusCode)
		case answer.ContentLength > most:
			return fmt.Errorf("download from %s: %d bytes, and at most %d are allowed", name, answer.ContentLength, most)
		}
		from = answer.Body
	}
	n, err := io.Copy(to, io.LimitReader(from, most+1))
	if err == nil && n > most {
		err = fmt.Errorf("more than %d bytes, which is the most that is allowed", most)
	}
	if err != nil {
		return fmt.Errorf("download from %s: %w", name, err)
	}
	return nil
}
