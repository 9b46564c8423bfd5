// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ironstate/ironstate/internal/program"
)

// backupFlags are the flags -backup and -restore: the files to write and to read.
type backupFlags struct{ to, from string }

func (b *backupFlags) define(flags *flag.FlagSet) {
	flags.StringVar(&b.to, "backup", "",
		"save all nodes of the store in this new `file`, also while another process serves them, and exit")
	flags.StringVar(&b.from, "restore", "", "create the folder -data from this `file` of a backup, and exit")
}

func (b *backupFlags) check(o *options) error {
	kind := o.chosen()
	_, possible := kind.(backupKind)
	switch {
	case b.to != "" && b.from != "":
		return program.Usagef("-backup and -restore exclude each other")
	case possible || *b == backupFlags{}:
		return nil
	case kind != nil:
		return program.Usagef("-backup and -restore: the store has no backups")
	case b.from != "":
		return program.Usagef("-restore needs -data")
	default:
		return program.Usagef("-backup needs -data or -%s: nodes in memory have no backup", strings.Join(o.sharing(), " or -"))
	}
}

// run saves or restores the nodes.
func (b *backupFlags) run(ctx context.Context, o *options, out io.Writer, log *slog.Logger) error {
	kind := o.chosen().(backupKind) // see check
	if b.from != "" {
		if err := kind.restore(ctx, o.storeSettings, b.from, log); err != nil {
			return err
		}
		fmt.Fprintf(out, "restored %s from %s\n", o.data, b.from)
		return nil
	}
	size, err := createFile(b.to, func(w io.Writer) error { return kind.backup(ctx, o.storeSettings, w, log) })
	if err != nil {
		return fmt.Errorf("-backup: %w", err)
	}
	fmt.Fprintf(out, "saved %d bytes in %s\n", size, b.to)
	return nil
}

// createFile creates a file that only its owner can read, and never replaces one. The file has its name only once it is
// complete and on disk: until then it is a hidden file in the same folder, whose name ends in ".partial". That file
// remains if the process is killed; if write fails, no file is left.
func createFile(path string, write func(io.Writer) error) (size int64, err error) {
	if err := absent(path); err != nil {
		return 0, err
	}
	dir := filepath.Dir(path)
	partial, err := os.CreateTemp(dir, ".backup-*.partial")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, ignoring(fs.ErrNotExist, os.Remove(partial.Name()))) }()
	err = write(partial)
	if err == nil {
		size, err = partial.Seek(0, io.SeekCurrent)
	}
	if err == nil {
		err = partial.Sync()
	}
	if err = errors.Join(err, partial.Close()); err != nil {
		return 0, err
	}
	if err := publish(partial.Name(), path); err != nil {
		return 0, err
	}
	parent, err := os.Open(dir)
	if err != nil {
		return 0, err
	}
	return size, errors.Join(parent.Sync(), parent.Close())
}

// absent returns an error if the path exists.
func absent(path string) error {
	_, err := os.Lstat(path)
	if err == nil {
		err = &fs.PathError{Op: "create", Path: path, Err: fs.ErrExist}
	}
	return ignoring(fs.ErrNotExist, err)
}

// publish gives a file its name. A link, unlike a rename, replaces no file that another process has created in the
// meantime. A file system without links, such as FAT, does not have that certainty.
func publish(from, to string) error {
	err := os.Link(from, to)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := absent(to); err != nil {
		return err
	}
	return os.Rename(from, to)
}

// ignoring returns err unless it matches expected.
func ignoring(expected, err error) error {
	if errors.Is(err, expected) {
		return nil
	}
	return err
}

// socket returns the path of the socket at which a process provides backups of its folder. The
// permissions of the socket's folder exclude other users.
func socket(data string) string { return filepath.Join(data, "backup", "socket") }

// requestBackup writes a backup from the process that has the folder open.
func requestBackup(ctx context.Context, data string, w io.Writer) error {
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket(data))
	}}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://backup/", nil)
	if err != nil {
		return err
	}
	answer, err := transport.RoundTrip(request)
	if err != nil {
		return fmt.Errorf("request a backup from the process that has %s open: %w", data, err)
	}
	defer answer.Body.Close()
	_, err = io.Copy(w, answer.Body)
	return err
}

// offerBackups provides backups of a folder to other processes of this user until stop is called.
func offerBackups(data string, backup func(context.Context, io.Writer) error, log *slog.Logger) (stop func(), err error) {
	path := socket(data)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.RemoveAll(path)); err != nil {
		return nil, err
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	server := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := backup(r.Context(), w); err != nil {
			log.Error("a backup has failed", "error", err)
			panic(http.ErrAbortHandler) // makes the request of the other process fail
		}
		log.Info("a backup was made")
	})}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(listener) // until it is closed
	}()
	return func() { _ = server.Close(); <-ended }, nil
}
