// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"crypto/tls"
	"errors"
	"log/slog"

	"github.com/ironstate/ironstate/conductor/etcd/internal/endpoint"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/verify/secret"
)

// Config configures a [Store] on the servers at Endpoints.
type Config struct {
	// Endpoints are the URLs of the servers of an etcd cluster: "https://etcd-1:2379".
	// URLs with http are used without TLS.
	Endpoints []string
	// TLS has the CA and the client certificate for Endpoints with https; nil stands for
	// the system's CAs and no client certificate.
	TLS *tls.Config
	// User and Password are for clusters with password authentication.
	User     string
	Password secret.Text

	// Prefix is the prefix of all keys; empty stands for "/ironstate". Fleets with different
	// prefixes can share a cluster without affecting each other.
	Prefix string
	// Log receives this store's log, and etcd's with its levels info and warn as Debug; nil discards both.
	Log *slog.Logger
}

// complete returns the configuration with its defaults, or an error if it is invalid.
func (c Config) complete() (Config, error) {
	if len(c.Endpoints) == 0 {
		return c, &machine.ConfigError{Package: "etcd", Field: "Endpoints", Want: "the URLs of the servers; package embedded needs none"}
	}
	secure := 0
	for _, server := range c.Endpoints {
		https, err := endpoint.IsHTTPS(server)
		if err != nil {
			return c, &machine.ConfigError{Package: "etcd", Field: "Endpoints", Err: err}
		}
		if !https && c.TLS != nil {
			return c, &machine.ConfigError{Package: "etcd", Field: "Endpoints", Value: server, Want: "https, since TLS is set"}
		}
		if https {
			secure++
		}
	}
	if secure != 0 && secure != len(c.Endpoints) { // the client would use the first one's scheme for all
		return c, &machine.ConfigError{Package: "etcd", Field: "Endpoints", Err: errors.New("some have https and some http: use one of them")}
	}
	if secure > 0 && c.TLS == nil {
		c.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	return c, nil
}
