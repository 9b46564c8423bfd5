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
	"strings"
	"time"

	"github.com/ironstate/ironstate/verify/secret"
)

// Config configures a [Client]. URL is required. The zero value of every other field stands for Ironic's default; the
// names in parentheses are Ironic's options.
type Config struct {
	// URL is where the agent takes commands: the callback_url of its heartbeats, http or https.
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
	// MaxAnswer bounds an answer in bytes; 0 stands for 16 MiB. The agent repeats a config drive in its answers.
	MaxAnswer int64
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
// used.
func New(config Config) (*Client, error) {
	config.Timeout = cmp.Or(config.Timeout, time.Minute)
	config.Attempts = cmp.Or(config.Attempts, 3)
	config.PollInterval = cmp.Or(config.PollInterval, 6*time.Second)
	config.Polls = cmp.Or(config.Polls, 100)
	config.MaxAnswer = cmp.Or(config.MaxAnswer, 16<<20)
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

// commandsURL returns the URL of an agent's commands.
func commandsURL(callback string) (string, error) {
	u, err := url.Parse(callback)
	switch {
	case callback == "":
		//lint:ignore ST1005 the text is Ironic's, in agent_client.py
		return "", errors.New("Agent driver requires agent_url in driver_internal_info")
	case err != nil, u.Host == "", u.Scheme != "http" && u.Scheme != "https":
		return "", fmt.Errorf("agent_url %q is not an http or https URL", callback)
	case u.User != nil, u.RawQuery != "", u.Fragment != "":
		return "", errors.New("agent_url has a user, a query or a fragment")
	}
	return strings.TrimRight(u.String(), "/") + "/v1/commands/", nil
}

// roots returns the authorities in a PEM text, nil for those of the operating system.
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
