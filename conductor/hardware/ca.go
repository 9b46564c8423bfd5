// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"github.com/ironstate/ironstate/internal/oslobool"
)

// The limits for the files of redfish_verify_ca.
const (
	maxCAFile  = 1 << 20 // bytes
	maxCAFiles = 1000    // in a folder
	maxCAs     = 8 << 20 // bytes of all files of a folder; those of a distribution have about 1 MiB with their links
)

// verifyCA returns the certificate authorities of redfish_verify_ca, nil for those of the system.
// insecure means that the BMC's certificate is not verified.
func (i info) verifyCA() (pool *x509.CertPool, insecure bool, err error) {
	const key = "redfish_verify_ca"
	value, present := i.DriverInfo[key]
	text, isText := value.(string)
	verified, isBool := value.(bool)
	switch {
	case !present:
		return nil, false, nil
	case isBool:
		return nil, !verified, nil
	case !isText:
		return nil, false, i.invalid(key, "it must be true, false, or the path of a file or folder with certificates")
	}
	if at, err := os.Stat(text); err == nil {
		pool, err := readAuthorities(text, at)
		if err != nil {
			return nil, false, i.invalid(key, "%v", err)
		}
		return pool, false, nil
	}
	verified, ok := oslobool.Parse(text)
	if !ok {
		return nil, false, i.invalid(key, "%q is neither true, nor false, nor the path of a file or folder with certificates", text)
	}
	return nil, !verified, nil
}

// readAuthorities reads the certificates of a file, or of all files of a folder.
func readAuthorities(name string, at os.FileInfo) (*x509.CertPool, error) {
	pool := x509.NewCertPool()
	if !at.IsDir() {
		_, err := addAuthorities(pool, name)
		return pool, err
	}
	folder, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	names, err := folder.Readdirnames(maxCAFiles + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(names) > maxCAFiles {
		return nil, fmt.Errorf("the folder %q has more than %d files", name, maxCAFiles)
	}
	found, total := false, 0
	for _, file := range names {
		size, err := addAuthorities(pool, filepath.Join(name, file))
		found = err == nil || found // skip other files
		if total += size; total > maxCAs {
			return nil, fmt.Errorf("the files of the folder %q are longer than %d MiB", name, maxCAs>>20)
		}
	}
	if !found {
		return nil, fmt.Errorf("the folder %q has no file with certificates in PEM form", name)
	}
	return pool, nil
}

// addAuthorities adds the certificates of a file, and returns the bytes that it has read.
func addAuthorities(pool *x509.CertPool, name string) (int, error) {
	text, err := readCAFile(name)
	if err == nil && !pool.AppendCertsFromPEM(text) {
		err = fmt.Errorf("the file %q has no certificates in PEM form", name)
	}
	return len(text), err
}

// readCAFile reads a regular file. Reading another one might block, and opening a device might change its state, so the file is
// checked before and after it is opened. The kernel's files, such as /proc/kmsg, are regular but have no size.
func readCAFile(name string) ([]byte, error) {
	at, err := os.Stat(name)
	if err == nil {
		err = checkCAFile(name, at)
	}
	if err != nil {
		return nil, err
	}
	file, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a FIFO opens without a writer
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if at, err = file.Stat(); err == nil {
		err = checkCAFile(name, at)
	}
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(file, at.Size()))
}

func checkCAFile(name string, at os.FileInfo) error {
	switch {
	case !at.Mode().IsRegular():
		return fmt.Errorf("%q is neither a file nor a folder", name)
	case at.Size() == 0:
		return fmt.Errorf("the file %q is empty or one of the kernel", name)
	case at.Size() > maxCAFile:
		return fmt.Errorf("the file %q is longer than %d MiB", name, maxCAFile>>20)
	}
	return nil
}
