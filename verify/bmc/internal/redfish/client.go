// SPDX-License-Identifier: Apache-2.0

// Package redfish is a client of one Redfish service (DMTF's DSP0266), in a BMC. It logs in and out, sends requests,
// and reads answers. The BMC is not trusted: all that is read of it is bounded, no link leads to another host, and
// refused credentials are not sent again. What the resources mean is the caller's business.
package redfish

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc/internal/failure"
	"github.com/ironstate/ironstate/verify/secret"
)

// The words of Config.Auth.
const (
	AutoAuth    = "auto" // a session, or HTTP Basic authentication if the service has none, or no further one
	SessionAuth = "session"
	BasicAuth   = "basic"
)

// Config says where a BMC is and how much it may take. All fields but BasePath, SystemID and SystemName are required.
type Config struct {
	Address    string // host and port
	TLS        *tls.Config
	BasePath   string // precedes all paths; see the Config of package bmc
	User       string
	Password   secret.Text
	Auth       string
	LoginGrace time.Duration // how long a log-in may wait for its answer after its context has ended
	Pause      time.Duration // time until a request is sent again, see repeat.go
	// Alternative: another protocol is tried for a BMC without Redfish.
	Alternative bool

	SystemID, SystemName string // select one of several systems

	// The limits of an operation, which [Client.Begin] begins.
	MaxBytes       int64 // bytes read in all, TLS and headers included
	MaxAnswerBytes int64 // bytes of one answer's body, decompressed
	MaxRequests    int
	MaxMembers     int // members of a collection

	Scrubber *failure.Scrubber // is told the session's token
}

// Client is a client of one Redfish service, for one session. It is used by one goroutine at a time.
type Client struct {
	exchanger

	systems  string // the path of the collection of systems
	sessions string // the path of the collection of sessions; "" if there is none
	system   string // the path of the system that the Config selects, once found

	basic    bool // HTTP Basic authentication is used
	full     bool // it is used since the BMC has no free session
	tried    bool // credentials were sent
	accepted bool // a request with HTTP Basic authentication was answered without an error
	refused  bool // the password was refused, and is not sent again, or the last answer has refused the session
	session  *session
	// forbidden: the last answer has forbidden what the session has asked, which may have ended.
	forbidden bool

	lost    error // why a request has no answer, since Begin
	lasting []int // the statuses of server errors that reads have ended with, since Begin
}

// New returns a Client. It sends nothing.
func New(c Config) *Client {
	return &Client{exchanger: exchanger{config: c, origin: (&url.URL{Scheme: "https", Host: c.Address}).String()}}
}

// Begin resets the limits for the next operation.
func (c *Client) Begin() {
	c.budget = budget{c.config.MaxBytes, c.config.MaxRequests}
	c.lost, c.lasting = nil, nil
	c.forgive()
}

// forgive lets a password be sent again that was accepted before it was refused: some BMCs refuse credentials at one
// resource alone.
func (c *Client) forgive() { c.refused = c.refused && !c.accepted }

// AllowRequests raises MaxRequests to n, if it is less, until the next operation.
func (c *Client) AllowRequests(n int) { c.budget.requests = max(n, c.config.MaxRequests) }

// Ended returns why no request of the operation should follow, nil if one may: a request has no answer, or the BMC has
// refused the credentials, the password or the session in its last answer. See [Client.Recheck].
func (c *Client) Ended() error {
	if c.lost == nil && c.refused {
		return errRefused
	}
	return c.lost
}

// HasSession reports whether requests have the token of a session, which the BMC may end by itself.
func (c *Client) HasSession() bool { return c.session != nil && !c.session.token.IsZero() }

// NoFreeSession reports whether HTTP Basic authentication is used since the BMC had no free session at the log-in.
func (c *Client) NoFreeSession() bool { return c.full }

// Absent reports whether a failed attempt shows that there is no Redfish: its port is
// closed, or the server has no service root, and no credentials were sent yet.
func (c *Client) Absent(err error) bool {
	return !c.tried && (errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, errNoRoot))
}

// Close logs out and closes the connection.
func (c *Client) Close(ctx context.Context) {
	defer c.disconnect() // also after a panic, from which the caller recovers
	c.logout(ctx)
}

// Get reads a resource. The answer is nil if there was none.
func (c *Client) Get(ctx context.Context, path string) (Object, *Answer, error) {
	a, err := c.Do(ctx, Request{Method: http.MethodGet, Path: path})
	if err != nil {
		return nil, a, err
	}
	o, err := a.Object()
	return o, a, err
}

// Recheck is [Client.Ended] for a caller who can do without the last request. After the BMC has refused the
// credentials, perhaps at one resource alone, it reads the system again, which was read before, and returns why it
// cannot. Some BMCs answer 403 for a session that has ended. With HTTP Basic authentication a password that was changed
// meanwhile is sent once more.
func (c *Client) Recheck(ctx context.Context) error {
	if c.lost != nil || !c.refused && !c.forbidden {
		return c.lost
	}
	c.forgive()
	_, _, err := c.Get(ctx, c.system)
	return err
}

// Optional reads a resource that the caller can do without, after the system. Its only error is one after which no
// request should follow: there was no answer, or the system cannot be read any more, see [Client.Recheck].
func (c *Client) Optional(ctx context.Context, path string) (Object, *Answer, error) {
	o, a, err := c.Get(ctx, path)
	if a != nil {
		err = c.Recheck(ctx)
	}
	return o, a, err
}

// Do sends a request, with credentials if there are any, and returns an error if the
// answer is one. It repeats requests that fail for the moment, see repeat.go.
func (c *Client) Do(ctx context.Context, r Request) (*Answer, error) {
	if err := c.authorize(&r); err != nil {
		return nil, err
	}
	a, err := c.repeat(ctx, r, func() (*Answer, error) { return c.once(ctx, r) })
	if a == nil {
		c.lost = err
	}
	return a, err
}

func (c *Client) once(ctx context.Context, r Request) (*Answer, error) {
	a, err := c.send(ctx, r)
	if err != nil {
		return a, err
	}
	a.unproven, a.loggedIn = c.basic && !c.accepted, c.session != nil || c.accepted
	c.refused = a.Status == http.StatusUnauthorized || c.refused && !c.HasSession()
	err = a.refusal()
	c.forbidden = c.HasSession() && failure.KindOf(err) == verify.Forbidden
	if err != nil {
		return a, err
	}
	c.accepted = c.accepted || c.basic
	return a, nil
}

// Change is [Client.Patch] without the answer.
func (c *Client) Change(ctx context.Context, read *Answer, properties any, repeat ...int) error {
	_, err := c.Patch(ctx, read, properties, repeat...)
	return err
}

// Patch sends a PATCH of a resource, on the condition that it is as it was read. Some BMCs refuse their own ETags: then
// Patch sends a weak one as a strong one, the one in the body in place of the header's, and no condition. A BMC that
// requires a condition, and accepts none of its ETags or has none, gets one that always holds. Patch is repeated after
// the given statuses, see repeat.go. The answer is nil if there was none.
//
// Source: _etag_handler in sushy/connector.py.
func (c *Client) Patch(ctx context.Context, read *Answer, properties any, repeat ...int) (a *Answer, err error) {
	body, err := json.Marshal(properties)
	if err != nil {
		return nil, err
	}
	tag, inBody := read.tag(), (&Answer{Body: read.Body}).tag()
	conditions := []string{tag, strings.TrimPrefix(tag, "W/"), inBody, strings.TrimPrefix(inBody, "W/"), "", "*"}
	for i, condition := range conditions {
		required := tag == "" || a != nil && a.Status == http.StatusPreconditionRequired
		if slices.Contains(conditions[:i], condition) || condition == "*" && !required {
			continue
		}
		header := make(http.Header)
		if condition != "" {
			header.Set("If-Match", condition)
		}
		a, err = c.Do(ctx, Request{Method: http.MethodPatch, Path: read.Request.Path, Header: header, Body: body, Repeat: repeat})
		if a == nil || a.Status != http.StatusPreconditionFailed && a.Status != http.StatusPreconditionRequired {
			return a, err
		}
	}
	return a, err
}

// Delete deletes a resource.
func (c *Client) Delete(ctx context.Context, path string) error {
	_, err := c.Do(ctx, Request{Method: http.MethodDelete, Path: path})
	return err
}
