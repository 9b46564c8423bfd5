// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"crypto/x509"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ironstate/ironstate/conductor/internal/namedfile"
	"github.com/ironstate/ironstate/internal/oslobool"
)

// The limits for the files of redfish_verify_ca.
const (
	maxCAFile  = 1 << 20 // bytes
	maxCAFiles = 1000    // in a folder
	maxCAs     = 8 << 20 // bytes of all files of a folder; a distribution's have about 1 MiB with their links
)

// verifyCA returns the certificate authorities of a key such as redfish_verify_ca, nil for the system's.
// insecure means that the BMC's certificate is not verified.
func (i info) verifyCA(key string) (pool *x509.CertPool, insecure bool, err error) {
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
	names, err := namedfile.List(name, maxCAFiles)
	if err != nil {
		return nil, err
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
	text, err := namedfile.Read(name, maxCAFile)
	if err == nil && !pool.AppendCertsFromPEM(text) {
		err = fmt.Errorf("the file %q has no certificates in PEM form", name)
	}
	return len(text), err
}
