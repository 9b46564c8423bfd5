package bmc

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
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
	errEndless     = fmt.Errorf("the answer is longer than %d MiB", maxBody>>20)
	errElsewhere   = errors.New("the BMC sends us to another host")
	errSecondLogin = errors.New("a second login was about to be tried")
	errRedirects   = errors.New("too many redirects")
	errFingerprint = errors.New("the certificate is not the one that is pinned")
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
	tried    bool     // a login was tried
	sessions sessions // that are open on the BMC
	failure  *failure // of the last request
	body     []byte   // of the last answer
}

func newTransport(c Config, host string) *transport {
	return &transport{
		config: c,
		host:   host,
		base: &http.Transport{
			TLSClientConfig:        tlsConfig(c),
			MaxResponseHeaderBytes: 64 << 10,
			MaxConnsPerHost:        1,
		},
		sessions: sessions{},
	}
}

func tlsConfig(c Config) *tls.Config {
	config := &tls.Config{RootCAs: c.RootCAs, InsecureSkipVerify: c.InsecureSkipTLSVerify}
	if pin, _ := c.pin(); len(pin) > 0 {
		config.InsecureSkipVerify = true // the pin is verified instead
		config.VerifyConnection = func(state tls.ConnectionState) error {
			sum := sha256.Sum256(state.PeerCertificates[0].Raw)
			if !bytes.Equal(sum[:], pin) {
				return fmt.Errorf("%w: it has the fingerprint %x", errFingerprint, sum)
			}
			return nil
		}
	}
	return config
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

// lastBody returns the body of the last answer.
func (t *transport) lastBody() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.body
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
	resp, body, failed := t.roundTrip(req)
	if failed != nil {
		failed.err = fmt.Errorf("%s %s: %w", req.Method, req.URL.Path, failed.err)
	}
	t.mu.Lock()
	t.failure, t.body = failed, body
	t.mu.Unlock()
	if resp == nil {
		return nil, failed
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

// roundTrip returns a response with its body, a failure, or both where the
// failure is what the response says.
func (t *transport) roundTrip(req *http.Request) (*http.Response, []byte, *failure) {
	ctx, err := t.admit(req)
	if err != nil {
		return nil, nil, &failure{verify.Protocol, err}
	}
	sent := req.Clone(ctx)
	sent.Close = false
	sent.URL.Path = t.config.BasePath + req.URL.Path

	resp, err := t.base.RoundTrip(sent)
	if err != nil {
		return nil, nil, broken(ctx, err)
	}
	defer resp.Body.Close()
	t.noteSession(req, resp)
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	switch {
	case err != nil:
		return nil, nil, broken(ctx, err)
	case len(body) > maxBody:
		return nil, nil, &failure{verify.Protocol, errEndless}
	}
	if t.config.SystemID != "" {
		body = onlySystem(body, t.config.SystemID)
		resp.ContentLength = int64(len(body))
	}
	return resp, body, t.judge(req, resp, body)
}

// admit returns the context of a request, or why it must not be made.
func (t *transport) admit(req *http.Request) (context.Context, error) {
	if req.URL.Host != t.host || req.URL.Scheme != "https" {
		return nil, errElsewhere
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if isLogin(req) {
		if t.tried {
			return nil, errSecondLogin
		}
		t.tried = true
	}
	return t.ctx, nil
}

// broken returns why there is no answer: the context's end where that is why.
func broken(ctx context.Context, err error) *failure {
	if ended := ctx.Err(); ended != nil {
		err = ended
	}
	return &failure{kindOf(err), err}
}
