package etcd

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"

	"github.com/ironstate/ironstate/verify/bmc/secret"
)

// Config says where a [Store] is: in Dir, by a server in this process that is alone or
// one of a Cluster's, or at Endpoints.
type Config struct {
	// Dir is a folder for a server inside this process, which listens on no port and
	// no socket. The folder is made where it is missing. One process at a time can
	// have it open.
	Dir string
	// Quota is how many bytes the database in Dir may have; 0 is 8 GiB, more than
	// which etcd does not recommend.
	Quota int64

	// Cluster makes the server in this process one of a cluster's, each in a process like
	// this one, with a Dir of its own.
	Cluster Cluster

	// Endpoints are the URLs of the servers of a cluster: "https://etcd-1:2379".
	// Those with http are reached without TLS.
	Endpoints []string
	// TLS has the CA and the client certificate for Endpoints with https; nil means
	// the system's CAs and no certificate.
	TLS *tls.Config
	// User and Password are for clusters that ask for them.
	User     string
	Password secret.Text

	// Prefix begins all keys; empty is "/ironstate". Fleets with different prefixes
	// share a cluster and know nothing of each other.
	Prefix string
	// Log gets what etcd logs, its information as Debug; nil discards it.
	Log *slog.Logger
}

const (
	defaultPrefix = "/ironstate"
	defaultQuota  = 8 << 30
)

// complete returns the configuration with its defaults, or what is wrong with it.
func (c Config) complete() (Config, error) {
	switch {
	case c.Dir == "" && len(c.Endpoints) == 0:
		return c, errors.New("neither Dir nor Endpoints is set: Dir has the server in this process, Endpoints name a cluster's")
	case c.Dir != "" && len(c.Endpoints) > 0:
		return c, fmt.Errorf("both Dir (%q) and Endpoints (%q) are set: a store is in one place", c.Dir, c.Endpoints)
	case c.Quota < 0:
		return c, fmt.Errorf("the Quota is %d bytes, which has to be 0 or more", c.Quota)
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
		return c, fmt.Errorf("the Prefix is %q, which has to begin with a slash and end without one", c.Prefix)
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
			return c, fmt.Errorf("TLS is set, and the endpoint %q would be reached without it: write https", endpoint)
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
