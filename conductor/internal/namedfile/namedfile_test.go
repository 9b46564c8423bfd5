// SPDX-License-Identifier: Apache-2.0

package namedfile

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// write writes a file in a folder and returns its path.
func write(t *testing.T, folder, name, text string) string {
	t.Helper()
	path := filepath.Join(folder, name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// SECURITY.md: No device, pipe or file of the kernel is read.
func TestOnlyRegularFilesWithContentAreRead(t *testing.T) {
	folder := t.TempDir()
	good := write(t, folder, "good", "0123456789")
	link := filepath.Join(folder, "link")
	require.NoError(t, os.Symlink(good, link))
	loop := filepath.Join(folder, "loop")
	require.NoError(t, os.Symlink(loop, loop))
	fifo := filepath.Join(folder, "fifo")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	sparse := write(t, folder, "sparse", "")
	require.NoError(t, os.Truncate(sparse, 1<<40))
	for path, want := range map[string]string{
		good: "", link: "",
		write(t, folder, "long", "01234567890"): "has 11 bytes, and at most 10 are read",
		sparse:                                  "has 1099511627776 bytes",
		write(t, folder, "empty", ""):           "is empty or one of the kernel",
		folder:                                  "is not a regular file",
		fifo:                                    "is not a regular file",
		os.DevNull:                              "is not a regular file",
		"/dev/zero":                             "is not a regular file",
		"/proc/kmsg":                            "is empty or one of the kernel",
		"/proc/self/pagemap":                    "is empty or one of the kernel",
		"/proc/self/mem":                        "is empty or one of the kernel",
		good + "/":                              "not a directory",
		good + "\x00":                           "invalid argument",
		loop:                                    "too many levels",
		filepath.Join(folder, "absent"):         "no such file",
		"":                                      "no such file",
	} {
		content, err := Read(path, 10)
		if want == "" {
			require.NoError(t, err, path)
			require.Equal(t, "0123456789", string(content), path)
			continue
		}
		require.ErrorContains(t, err, want, path)
		require.Empty(t, content, path)
	}
}

// swapped has a regular file, in whose place another file is when it is opened.
type swapped struct{ was, is string }

func (s swapped) Stat(string) (fs.FileInfo, error) { return os.Stat(s.was) }

func (s swapped) OpenFile(_ string, flag int, perm fs.FileMode) (*os.File, error) {
	return os.OpenFile(s.is, flag, perm)
}

func TestAFileThatTakesTheNameOfAnotherIsRefused(t *testing.T) {
	folder := t.TempDir()
	good := write(t, folder, "good", "0123456789")
	fifo := filepath.Join(folder, "fifo")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	for is, want := range map[string]string{
		fifo: "is not a regular file", os.DevNull: "is not a regular file", folder: "is not a regular file",
		"/proc/self/pagemap": "is empty or one of the kernel",
	} {
		_, _, err := open(swapped{good, is}, "name")
		require.ErrorContains(t, err, want, is)
	}
}

func TestAFileThatGrowsIsReadAsItWas(t *testing.T) {
	path := write(t, t.TempDir(), "grows", "0123456789")
	file, at, err := open(host{}, path)
	require.NoError(t, err)
	defer file.Close()
	write(t, filepath.Dir(path), "grows", "01234567890123456789")
	require.Equal(t, int64(10), at.Size())
	content, err := io.ReadAll(io.LimitReader(file, at.Size()))
	require.NoError(t, err)
	require.Equal(t, "0123456789", string(content))
}

func TestNoLinkLeadsOutOfAFolder(t *testing.T) {
	outside := write(t, t.TempDir(), "secret", "a secret")
	folder := t.TempDir()
	write(t, folder, "inside", "an image")
	require.NoError(t, os.Symlink(outside, filepath.Join(folder, "absolute")))
	require.NoError(t, os.Symlink("../../../../../../.."+outside, filepath.Join(folder, "relative")))
	require.NoError(t, os.Symlink(filepath.Dir(outside), filepath.Join(folder, "folder")))
	require.NoError(t, os.Symlink("inside", filepath.Join(folder, "link")))
	root, err := os.OpenRoot(folder)
	require.NoError(t, err)
	defer root.Close()
	for _, name := range []string{"inside", "link"} {
		file, err := Open(root, name)
		require.NoError(t, err, name)
		content, err := io.ReadAll(file)
		require.NoError(t, err)
		require.NoError(t, file.Close())
		require.Equal(t, "an image", string(content))
	}
	for _, name := range []string{"absolute", "relative", "folder/secret", "../" + filepath.Base(folder) + "/inside", outside, ".", ""} {
		_, err := Open(root, name)
		require.Error(t, err, name)
	}
}

func TestAFolderIsListedUpToALimit(t *testing.T) {
	folder := t.TempDir()
	names, err := List(folder, 2)
	require.NoError(t, err)
	require.Empty(t, names)
	for i := range 2 {
		write(t, folder, fmt.Sprint(i), "")
	}
	names, err = List(folder, 2)
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"0", "1"}, names)
	file := write(t, folder, "2", "")
	_, err = List(folder, 2)
	require.ErrorContains(t, err, "has more than 2 files")
	_, err = List(file, 2)
	require.ErrorContains(t, err, "is not a folder")
	_, err = List(filepath.Join(folder, "absent"), 2)
	require.ErrorIs(t, err, fs.ErrNotExist)
}
