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
	at, path, err := s.source(source)
	if err != nil || path != "" {
		return path, err
	}
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return "", errors.New("it is not a URL")
	}
	answer, err := s.config.Client.Do(r)
	if err != nil {
		var known *url.Error
		if errors.As(err, &known) {
			err = known.Err
		}
		return "", fmt.Errorf("download from %s: %w", at.Host, err)
	}
	defer answer.Body.Close()
	switch {
	case answer.StatusCode != http.StatusOK:
		return "", fmt.Errorf("download from %s: it answers %d", at.Host, answer.StatusCode)
	case answer.ContentLength > s.config.MaxSource:
		return "", fmt.Errorf("download from %s: %d bytes, and at most %d are allowed", at.Host, answer.ContentLength, s.config.MaxSource)
	}
	file, err := os.CreateTemp(folder, "source-")
	if err != nil {
		return "", err
	}
	n, err := io.Copy(file, io.LimitReader(answer.Body, s.config.MaxSource+1))
	if n > s.config.MaxSource {
		err = fmt.Errorf("more than %d bytes, which is the most that is allowed", s.config.MaxSource)
	}
	if err = errors.Join(err, file.Close()); err != nil {
		_ = os.Remove(file.Name())
		return "", fmt.Errorf("download from %s: %w", at.Host, err)
	}
	return file.Name(), nil
}
