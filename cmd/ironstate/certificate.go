// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// rereadInterval is the time between two reads of the files of the server's certificate.
const rereadInterval = time.Minute

// certificateFiles are the files of the server's certificate and its key. Whoever renews a certificate replaces them,
// and restarts no process: they are read again when a client connects. Until both can be read and match, the
// certificate from before is used.
type certificateFiles struct {
	certificate, key string
	log              *slog.Logger
	current          atomic.Pointer[tls.Certificate]

	reading sync.Mutex // a client does not wait for another one that reads
	read    time.Time
	failure string // of the last read, which is logged once; empty for none
}

// readCertificate reads the files for the first time.
func readCertificate(certificate, key string, log *slog.Logger) (*certificateFiles, error) {
	pair, err := readKeyPair(certificate, key)
	if err != nil {
		return nil, fmt.Errorf("-tls-cert and -tls-key: %w", err)
	}
	f := &certificateFiles{certificate: certificate, key: key, log: log, read: time.Now()}
	f.current.Store(&pair)
	return f, nil
}

// get is a GetCertificate of a [tls.Config].
func (f *certificateFiles) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if f.reading.TryLock() {
		defer f.reading.Unlock()
		f.reread()
	}
	return f.current.Load(), nil
}

// reread reads the files again if that is due. The caller holds reading.
func (f *certificateFiles) reread() {
	if time.Since(f.read) < rereadInterval {
		return
	}
	f.read = time.Now()
	pair, err := readKeyPair(f.certificate, f.key)
	if err != nil {
		if text := err.Error(); text != f.failure { // a pipe, or a key for the begin of the process alone, stays so
			f.failure = text
			f.log.Warn("the certificate cannot be read again, and the one from before is used", "file", f.certificate, "error", err)
		}
		return
	}
	f.failure = ""
	if !slices.EqualFunc(pair.Certificate, f.current.Load().Certificate, bytes.Equal) {
		f.current.Store(&pair)
		f.log.Info("the certificate was renewed", "file", f.certificate)
	}
}
