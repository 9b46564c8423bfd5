package bmc

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/ironstate/ironstate/verify"
)

const (
	// maxBody is more than any resource that is read here takes.
	maxBody = 4 << 20
	// maxRedirects is more than a service needs that puts a slash behind paths.
	maxRedirects = 3
)

var (
	errNoServiceRoot = errors.New("there is no Redfish service root")
	errEndless       = fmt.Errorf("the answer is longer than %d MiB", maxBody>>20)
	errElsewhere     = errors.New("the BMC sends us to another host")
	errSecondLogin   = errors.New("a second login was about to be tried")
	errRedirects     = errors.New("too many redirects")
)

// transport carries the requests of one Redfish session and adds what the
// drivers leave out: the context, bounds, one host, one login, the log-out of a
// session that the driver lost sight of, and why the last request failed.
type transport struct {
	config Config
	host   string
	base   *http.Transport

	mu       sync.Mutex
	ctx      context.Context
	failure  *failure
	tried    bool              // a login was tried
	sessions map[string]string // open ones: the path of each, and its token
}

func newTransport(c Config, host string) *transport {
	return &transport{
		config: c,
		host:   host,
		base: &http.Transport{
			TLSClientConfig: &tls.Config{
				RootCAs:            c.RootCAs,
				InsecureSkipVerify: c.InsecureSkipTLSVerify,
			},
			MaxResponseHeaderBytes: 64 << 10,
			MaxConnsPerHost:        1,
		},
		sessions: map[string]string{},
	}
}

// use sets the context that ends requests from now on: those of the driver come
// with one that never ends.
func (t *transport) use(ctx context.Context) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ctx = ctx
}

// failed returns why the last request failed, nil if it did not.
func (t *transport) failed() *failure {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.failure
}

func (t *transport) triedLogin() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.tried
}

func checkRedirect(_ *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return errRedirects
	}
	return nil
}

// RoundTrip implements [http.RoundTripper]. The body of its response is in
// memory.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, failed := t.roundTrip(req)
	if failed != nil {
		failed.err = fmt.Errorf("%s %s: %w", req.Method, req.URL.Path, failed.err)
	}
	t.mu.Lock()
	t.failure = failed
	t.mu.Unlock()
	if resp == nil {
		return nil, failed
	}
	return resp, nil
}

// roundTrip returns a response, a failure, or both where the failure is what the
// response says.
func (t *transport) roundTrip(req *http.Request) (*http.Response, *failure) {
	t.mu.Lock()
	ctx := t.ctx
	login := isLogin(req)
	again := login && t.tried
	t.tried = t.tried || login
	t.mu.Unlock()
	switch {
	case req.URL.Host != t.host || req.URL.Scheme != "https":
		return nil, &failure{verify.Protocol, errElsewhere}
	case again:
		return nil, &failure{verify.Protocol, errSecondLogin}
	}

	req = req.Clone(ctx)
	req.Close = false

	resp, err := t.base.RoundTrip(req)
	if err != nil {
		return nil, broken(ctx, err)
	}
	defer resp.Body.Close()
	t.noteSession(req, resp)
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	switch {
	case err != nil:
		return nil, broken(ctx, err)
	case len(body) > maxBody:
		return nil, &failure{verify.Protocol, errEndless}
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, t.judge(req, resp, body)
}

// broken returns why there is no answer: the context's end where that is why.
func broken(ctx context.Context, err error) *failure {
	if ended := ctx.Err(); ended != nil {
		err = ended
	}
	return &failure{kindOf(err), err}
}

func isLogin(req *http.Request) bool {
	return req.Method == http.MethodPost && strings.HasSuffix(strings.TrimSuffix(req.URL.Path, "/"), "/Sessions")
}

// noteSession keeps account of the sessions that are open on the BMC.
func (t *transport) noteSession(req *http.Request, resp *http.Response) {
	t.mu.Lock()
	defer t.mu.Unlock()
	token := resp.Header.Get("X-Auth-Token")
	location, err := url.Parse(resp.Header.Get("Location"))
	switch {
	case isLogin(req) && resp.StatusCode/100 == 2 && token != "" && err == nil && location.Path != "":
		t.sessions[location.Path] = token
	case req.Method == http.MethodDelete && resp.StatusCode/100 == 2:
		delete(t.sessions, req.URL.Path)
	}
}

// close logs out of what is still open, and closes the connections.
func (t *transport) close(ctx context.Context) {
	defer t.base.CloseIdleConnections()
	t.mu.Lock()
	open := t.sessions
	t.sessions = map[string]string{}
	t.mu.Unlock()
	for path, token := range open {
		session := &url.URL{Scheme: "https", Host: t.host, Path: path}
		req, err := http.NewRequestWithContext(ctx, http.MethodDelete, session.String(), nil)
		if err != nil {
			continue
		}
		req.Header.Set("X-Auth-Token", token)
		if resp, err := t.base.RoundTrip(req); err == nil {
			resp.Body.Close()
		}
	}
}

// judge returns what a response says is wrong, nil if nothing is.
func (t *transport) judge(req *http.Request, resp *http.Response, body []byte) *failure {
	said := errors.New(strings.TrimSpace(resp.Status + " " + t.message(body)))
	atRoot := req.URL.Path == serviceRoot || req.URL.Path == strings.TrimSuffix(serviceRoot, "/")
	switch code := resp.StatusCode; {
	case code == http.StatusUnauthorized:
		return &failure{verify.Credentials, said}
	case code == http.StatusForbidden && strings.Contains(strings.ToLower(string(body)), "lock"):
		return &failure{verify.Locked, said}
	case code == http.StatusForbidden:
		return &failure{verify.Credentials, said}
	case code == http.StatusNotFound && atRoot:
		return &failure{verify.Unsupported, fmt.Errorf("%w: %w", errNoServiceRoot, said)}
	case code == http.StatusNotFound, code == http.StatusMethodNotAllowed, code == http.StatusNotImplemented:
		return &failure{verify.Unsupported, said}
	case code == http.StatusServiceUnavailable, code == http.StatusTooManyRequests:
		return &failure{verify.Unreachable, said}
	case code >= 400:
		return &failure{verify.Protocol, said}
	case code/100 != 2 || len(body) == 0 || isJSON(resp):
		return nil
	case atRoot:
		return &failure{verify.Protocol, fmt.Errorf("%w: %q is not JSON", errNoServiceRoot, resp.Header.Get("Content-Type"))}
	default:
		return &failure{verify.Protocol, fmt.Errorf("%q is not JSON", resp.Header.Get("Content-Type"))}
	}
}

func isJSON(resp *http.Response) bool {
	kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return err == nil && (kind == "application/json" || strings.HasSuffix(kind, "+json"))
}

// message returns what a Redfish error body says (DSP0266, 8.6), if it is one.
func (t *transport) message(body []byte) string {
	var answer struct {
		Error struct {
			Message  string `json:"message"`
			Extended []struct {
				Message string `json:"Message"`
			} `json:"@Message.ExtendedInfo"`
		} `json:"error"`
	}
	if json.Unmarshal(body, &answer) != nil {
		return ""
	}
	said := answer.Error.Message
	if len(answer.Error.Extended) > 0 && answer.Error.Extended[0].Message != "" {
		said = answer.Error.Extended[0].Message
	}
	const most = 200
	if said = t.config.scrub(said); len(said) > most {
		said = said[:most] + "..."
	}
	return said
}
