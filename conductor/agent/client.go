// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/ironstate/ironstate/internal/errtext"
	"github.com/ironstate/ironstate/internal/sorted"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/verify/secret"
)

// Config configures a [Client]. URL is required. The zero value of every other field stands for Ironic's default; the
// names in parentheses are Ironic's options.
type Config struct {
	// URL is where the agent takes commands: the callback_url of its heartbeats, see [ParseURL].
	URL string
	// Token is the token that the agent has from its lookup or its boot parameters.
	Token secret.Text
	// VerifyCA is the agent_verify_ca of the agent's heartbeats: certificates in PEM, which alone are trusted. Empty
	// stands for the authorities of the operating system.
	VerifyCA string
	// SkipVerify accepts any certificate.
	SkipVerify bool
	// Node is the UUID of the node, for the texts of errors.
	Node string

	// Timeout bounds one request; 0 stands for 60 s (command_timeout).
	Timeout time.Duration
	// Attempts is how often a request is sent that gets no answer; 0 stands for 3 (max_command_attempts).
	Attempts int
	// PollInterval is the time between two questions about a long command, and Polls their number; 0 stands for 6 s and
	// 100 (command_wait_interval, command_wait_attempts).
	PollInterval time.Duration
	Polls        int
	// MaxAnswer bounds an answer in bytes; 0 stands for 16 MiB. The agent repeats a config drive in its answers. The
	// client reads on with 16 KiB of each text, and 512 KiB in all.
	MaxAnswer int64
	// Budget is shared by clients whose answers together have bounded memory; nil stands for one of this client alone. In
	// the configuration of a conductor, nil stands for one of all its agents.
	Budget *Budget
	// Dial connects to the agent; nil stands for a [net.Dialer] without a timeout of its own.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Client sends commands to the agent of one machine. It keeps no connection open and is safe for concurrent use.
type Client struct {
	config   Config
	commands string // the URL of the commands
	http     http.Client
}

// maxHeader bounds the header of an answer in bytes.
const maxHeader = 64 << 10

// New returns a client. It sends nothing. The error matches [ErrConnection] if the URL or the certificates cannot be
// used. A negative number is a [*machine.ConfigError].
func New(config Config) (*Client, error) {
	for field, value := range sorted.All(map[string]int64{
		"Timeout": int64(config.Timeout), "Attempts": int64(config.Attempts), "PollInterval": int64(config.PollInterval),
		"Polls": int64(config.Polls), "MaxAnswer": config.MaxAnswer,
	}) {
		if value < 0 {
			return nil, &machine.ConfigError{Package: "agent", Field: field, Value: value, Want: "0 or more"}
		}
	}
	config.Timeout = cmp.Or(config.Timeout, time.Minute)
	config.Attempts = cmp.Or(config.Attempts, 3)
	config.PollInterval = cmp.Or(config.PollInterval, 6*time.Second)
	config.Polls = cmp.Or(config.Polls, 100)
	config.MaxAnswer = cmp.Or(config.MaxAnswer, 16<<20)
	if config.Budget == nil {
		config.Budget = NewBudget()
	}
	c := &Client{config: config}
	address, err := commandsURL(config.URL)
	if err != nil {
		return nil, c.failure(ErrConnection, 0, err, "Connection to agent failed: %v", err)
	}
	c.commands = address
	trusted, err := roots(config.VerifyCA)
	if err != nil {
		return nil, c.failure(ErrConnection, 0, err, "Connection to agent failed: %v", err)
	}
	c.http = http.Client{
		Transport: &http.Transport{
			DialContext: config.Dial, DisableKeepAlives: true, MaxResponseHeaderBytes: maxHeader,
			TLSClientConfig: &tls.Config{RootCAs: trusted, InsecureSkipVerify: config.SkipVerify, MinVersion: tls.VersionTLS12},
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c, nil
}

// ParseURL returns the callback_url of a heartbeat: an http or https URL of a host, with or without a port. The path is
// the client's to choose, so that the error refuses a URL with a path other than "/", a user, a query or a fragment. It
// does not repeat the URL, in which there may be a password.
func ParseURL(callback string) (*url.URL, error) {
	u, err := url.Parse(callback)
	switch {
	case err != nil, u.Hostname() == "", u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("it is not an http or https URL")
	case u.User != nil, u.RawQuery != "", u.ForceQuery, u.Fragment != "":
		return nil, errors.New("it has a user, a query or a fragment")
	case u.Path != "" && u.Path != "/":
		return nil, errors.New("it has a path")
	case errtext.Clean(callback) != callback: // it is stored as it is, so that the next heartbeat can be compared with it
		return nil, errors.New("it has control characters, or is too long")
	}
	if port, err := strconv.ParseUint(u.Port(), 10, 16); u.Port() != "" && (err != nil || port == 0) {
		return nil, errors.New("its port is not between 1 and 65535")
	}
	origin := &url.URL{Scheme: u.Scheme, Host: u.Host}
	// net/url reads some zones of an IPv6 address, "%\xe5" for one, that it does not read again as it writes them.
	if _, err := url.Parse(origin.String()); err != nil {
		return nil, errors.New("it is not an http or https URL")
	}
	return origin, nil
}

// commandsURL returns the URL of an agent's commands.
func commandsURL(callback string) (string, error) {
	if callback == "" {
		//lint:ignore ST1005 the text is Ironic's, in agent_client.py
		return "", errors.New("Agent driver requires agent_url in driver_internal_info")
	}
	u, err := ParseURL(callback)
	if err != nil {
		return "", fmt.Errorf("agent_url is invalid: %w", err)
	}
	u.Path = "/v1/commands/"
	return u.String(), nil
}

// roots returns the authorities in a PEM text, nil for the operating system's.
func roots(pem string) (*x509.CertPool, error) {
	if pem == "" {
		return nil, nil
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM([]byte(pem)) {
		return nil, errors.New("agent_verify_ca contains no certificate in PEM")
	}
	return pool, nil
}
