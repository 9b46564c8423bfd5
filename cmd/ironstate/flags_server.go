// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"

	"github.com/ironstate/ironstate/cmd/ironstate/internal/front"
	"github.com/ironstate/ironstate/internal/program"
)

// serverFlags are the flags of the HTTP server.
type serverFlags struct {
	listen          string
	authFile        string
	users           front.Users // of authFile; nil for no authentication
	tlsCert, tlsKey string
	tlsLowest       uint16 // version
	insecure        bool
}

func (s *serverFlags) define(flags *flag.FlagSet) {
	flags.StringVar(&s.listen, "listen", "127.0.0.1:0", "`host:port` to listen on; port 0 chooses a free one")
	flags.StringVar(&s.authFile, "auth-file", "",
		"`file` of users with bcrypt hashes, as htpasswd -B writes it; clients then need HTTP Basic authentication")
	flags.StringVar(&s.tlsCert, "tls-cert", "", "`file` of the server's certificate and its chain, in PEM")
	flags.StringVar(&s.tlsKey, "tls-key", "", "`file` of the certificate's key, in PEM")
	flags.Func("tls-minimum-version", "lowest `version` of TLS of clients and agents, 1.2 or 1.3; without it 1.2", s.setLowest)
	flags.BoolVar(&s.insecure, "insecure-listen-without-auth-and-tls", false,
		"listen beyond the loopback interface although everyone there can then send any request, or read passwords and the tokens of agents")
}

// check reads the file of users. agents is the address of -agent-listen.
func (s *serverFlags) check(agents string) error {
	if (s.tlsCert == "") != (s.tlsKey == "") {
		return program.Usagef("-tls-cert and -tls-key need each other: one of them is missing")
	}
	if s.tlsLowest != 0 && s.tlsCert == "" {
		return program.Usagef("-tls-minimum-version needs -tls-cert: without it the server has no TLS")
	}
	s.tlsLowest = cmp.Or(s.tlsLowest, tls.VersionTLS12)
	if s.authFile != "" {
		text, err := readFile(s.authFile)
		if err != nil {
			return fmt.Errorf("-auth-file: %w", err)
		}
		if s.users, err = front.ParseUsers(string(text)); err != nil {
			return fmt.Errorf("-auth-file %s: %w", s.authFile, err)
		}
	}
	return s.checkListen(agents)
}

// setLowest parses the value of -tls-minimum-version.
func (s *serverFlags) setLowest(value string) (err error) {
	version, ok := map[string]uint16{"1.2": tls.VersionTLS12, "1.3": tls.VersionTLS13}[value]
	if s.tlsLowest = version; !ok {
		err = errors.New("want 1.2 or 1.3")
	}
	return err
}

// checkListen refuses a non-loopback address without authentication and TLS, and for agents, which have no password,
// without TLS.
func (s *serverFlags) checkListen(agents string) error {
	host, _, err := net.SplitHostPort(s.listen)
	if err != nil {
		return program.Usagef("-listen is %q: want host:port, such as 127.0.0.1:6385", s.listen)
	}
	if !s.insecure && !front.IsLoopback(host) && (s.users == nil || s.tlsCert == "") {
		return program.Usagef("-listen is %q, which others can reach: give -auth-file, -tls-cert and -tls-key as well, "+
			"or -insecure-listen-without-auth-and-tls", s.listen)
	}
	if agents == "" {
		return nil
	}
	host, _, err = net.SplitHostPort(agents)
	switch {
	case err != nil:
		return program.Usagef("-agent-listen is %q: want host:port, such as 10.0.0.1:6385", agents)
	case !s.insecure && !front.IsLoopback(host) && s.tlsCert == "":
		return program.Usagef("-agent-listen is %q, and agents' tokens could be read on the way: give -tls-cert and -tls-key as well, "+
			"or -insecure-listen-without-auth-and-tls", agents)
	}
	return nil
}

func isHostPort(address string) bool {
	_, _, err := net.SplitHostPort(address)
	return err == nil
}

// tlsConfig returns the server's certificate and its lowest version of TLS, nil without a certificate.
func (s *serverFlags) tlsConfig(log *slog.Logger) (*tls.Config, error) {
	if s.tlsCert == "" {
		return nil, nil
	}
	files, err := readCertificate(s.tlsCert, s.tlsKey, log)
	if err != nil {
		return nil, err
	}
	return &tls.Config{GetCertificate: files.get, MinVersion: s.tlsLowest}, nil
}
