// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"io"
	"os"
	"syscall"
)

// maxFile bounds the size in bytes of a file that a flag names.
const maxFile = 1 << 20

// readFile reads a file that a flag names. Unlike [os.ReadFile] it does not wait until somebody opens a named pipe for
// writing: SIGTERM would not end the wait.
func readFile(path string) ([]byte, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("%s has more than %d bytes", path, maxFile)
	}
	return text, err
}

// readKeyPair reads a certificate with its chain, and its key, in PEM.
func readKeyPair(certificate, key string) (tls.Certificate, error) {
	chain, certificateErr := readFile(certificate)
	secret, keyErr := readFile(key)
	if err := cmp.Or(certificateErr, keyErr); err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(chain, secret)
}
