package bmc

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"

	bmclib "github.com/bmc-toolbox/bmclib/v2"
	"github.com/bmc-toolbox/bmclib/v2/providers/redfish"
	"github.com/go-logr/logr"

	"github.com/ironstate/ironstate/verify"
)

// serviceRoot is where a Redfish service begins (DSP0266, 6.3). It is read
// without credentials.
const serviceRoot = "/redfish/v1/"

// redfishLink is Redfish over HTTPS, by bmclib's gofish driver.
type redfishLink struct {
	config    Config
	transport *transport
	client    *bmclib.Client
	driver    *guarded
}

func newRedfish(c Config) *redfishLink {
	l := &redfishLink{config: c}
	l.transport = newTransport(c, l.address())
	return l
}

func (l *redfishLink) protocol() Protocol { return Redfish }

func (l *redfishLink) address() string {
	return net.JoinHostPort(l.config.Host, strconv.Itoa(l.config.RedfishPort))
}

func (l *redfishLink) open(ctx context.Context) (*bmclib.Client, error) {
	l.transport.use(ctx)
	conn := redfish.New(urlHost(l.config.Host), l.config.User, string(l.config.Password), logr.Discard(),
		redfish.WithPort(strconv.Itoa(l.config.RedfishPort)),
		redfish.WithHttpClient(&http.Client{Transport: l.transport, CheckRedirect: checkRedirect}),
		redfish.WithSystemName(l.config.SystemName),
	)
	l.driver = &guarded{driver: timeless{conn}}
	l.client = newClient(l.config, l.driver, Redfish, redfish.Features)
	return l.client, l.client.Open(ctx)
}

// timeless is the driver without the time limit that it would give its HTTP
// client for good: the transport knows until when.
type timeless struct{ *redfish.Conn }

func (d timeless) Open(ctx context.Context) error { return d.Conn.Open(context.WithoutCancel(ctx)) }

// urlHost returns the host as it stands in a URL before a port.
func urlHost(host string) string {
	if strings.Contains(host, ":") {
		return "[" + strings.ReplaceAll(host, "%", "%25") + "]"
	}
	return host
}

func (l *redfishLink) close(ctx context.Context) {
	l.transport.use(ctx)
	if l.client != nil {
		// The driver does not report a log-out that failed; the transport makes
		// up for it.
		_ = l.client.Close(ctx)
	}
	l.transport.close(ctx)
}

func (l *redfishLink) explain(err error) (verify.Kind, error) {
	var known *failure
	if errors.As(err, &known) {
		return known.kind, known.err
	}
	if known := l.transport.failed(); known != nil {
		return known.kind, known.err
	}
	seen := errors.New(l.config.scrub(l.driver.cause(err).Error()))
	if strings.Contains(seen.Error(), "no matching redfish system") {
		return verify.Unsupported, seen
	}
	return verify.Protocol, seen
}

// absent reports whether an attempt that failed shows that there is no Redfish:
// its port is closed, or what answers has no service root, and no credentials
// were sent yet.
func (l *redfishLink) absent(err error) bool {
	return !l.transport.triedLogin() && (errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, errNoServiceRoot))
}
