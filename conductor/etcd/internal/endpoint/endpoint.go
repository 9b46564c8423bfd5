// SPDX-License-Identifier: Apache-2.0

// Package endpoint checks the URLs of etcd's servers.
package endpoint

import (
	"fmt"
	"net/url"

	"github.com/ironstate/ironstate/internal/masked"
)

// IsHTTPS reports whether the URL of a server has https. The error says what a URL that is
// neither http nor https, or that is more than a host and a port, has to be.
func IsHTTPS(endpoint string) (bool, error) {
	u, err := url.Parse(endpoint)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return false, fmt.Errorf("the endpoint %q is not a URL such as https://etcd-1:2379", masked.Text(endpoint))
	case u.User != nil:
		return false, fmt.Errorf("the endpoint at %q names a user: use User and Password", u.Host)
	case u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Port() == "":
		return false, fmt.Errorf("the endpoint %q is not a URL of a host and a port, such as https://etcd-1:2379", masked.Text(endpoint))
	}
	return u.Scheme == "https", nil
}
