package etcd

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"

	"github.com/ironstate/ironstate/verify/secret"
)

// Config configures a [Store]. Either Dir is set, for an embedded server that is single or one of
// a Cluster, or Endpoints, for another etcd cluster.
type Config struct {
	// Dir is the folder of a server embedded in this process, which listens on no port and
	// no socket unless Cluster is set. A missing folder is created. One process at a time
	// can have it open.
	Dir string
	// Quota bounds the size of the database in Dir, in bytes; 0 stands for 8 GiB, the maximum
	// that etcd recommends.
	Quota int64

	// Cluster makes the embedded server one of a cluster. Each process has its own server and
	// its own Dir.
	Cluster Cluster

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
	// Log receives etcd's log, with etcd's level info as Debug; nil discards it.
	Log *slog.Logger
}

const (
	defaultPrefix = "/ironstate"
	defaultQuota  = 8 << 30
)

// complete returns the configuration with its defaults, or an error if it is invalid.
func (c Config) complete() (Config, error) {
	switch {
	case c.Dir == "" && len(c.Endpoints) == 0:
		return c, errors.New("neither Dir nor Endpoints is set: set Dir for an embedded server, or Endpoints for another cluster")
	case c.Dir != "" && len(c.Endpoints) > 0:
		return c, fmt.Errorf("both Dir (%q) and Endpoints (%q) are set: set one of them", c.Dir, c.Endpoints)
	case c.Quota < 0:
		return c, fmt.Errorf("the Quota is %d bytes, want 0 or more", c.Quota)
	}
	if err := c.Cluster.check(c.Dir); err != nil {
		return c, err
	}
	if c.Quota == 0 {
		c.Quota = defaultQuota
	}
	if c.Prefix == "" {
		c.Prefix = defaultPrefix
	}
	if !strings.HasPrefix(c.Prefix, "/") || strings.HasSuffix(c.Prefix, "/") {
		return c, fmt.Errorf("the Prefix is %q: it must begin with a slash and end without one", c.Prefix)
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	secure := false
	for _, endpoint := range c.Endpoints {
		https, err := isHTTPS(endpoint)
		if err != nil {
			return c, err
		}
		if !https && c.TLS != nil {
			return c, fmt.Errorf("TLS is set, but the endpoint %q would be reached without it: use https", endpoint)
		}
		secure = secure || https
	}
	if secure && c.TLS == nil {
		c.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	return c, nil
}

func isHTTPS(endpoint string) (bool, error) {
	u, err := url.Parse(endpoint)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return false, fmt.Errorf("the endpoint %q is not a URL such as https://etcd-1:2379", endpoint)
	case u.User != nil:
		return false, fmt.Errorf("the endpoint at %q names a user: use User and Password", u.Host)
	case u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Port() == "":
		return false, fmt.Errorf("the endpoint %q is not a URL of a host and a port, such as https://etcd-1:2379", endpoint)
	}
	return u.Scheme == "https", nil
}
