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
	bmclibbmc "github.com/bmc-toolbox/bmclib/v2/bmc"
	"github.com/bmc-toolbox/bmclib/v2/providers/redfish"
	"github.com/go-logr/logr"

	"github.com/ironstate/ironstate/verify"
)

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

func (l *redfishLink) protocol() string { return Redfish.String() }

func (l *redfishLink) provider() *guarded { return l.driver }

func (l *redfishLink) address() string {
	return net.JoinHostPort(l.config.Host, strconv.Itoa(l.config.RedfishPort))
}

func (l *redfishLink) open(ctx context.Context) (*bmclib.Client, error) {
	conn := redfish.New(urlHost(l.config.Host), l.config.User, string(l.config.Password), logr.Discard(),
		redfish.WithPort(strconv.Itoa(l.config.RedfishPort)),
		redfish.WithHttpClient(&http.Client{Transport: l.transport, CheckRedirect: checkRedirect}),
		redfish.WithSystemName(l.config.SystemName),
	)
	l.driver = &guarded{provider: bound{conn, l.transport}}
	l.client = newClient(l.config, l.driver, Redfish, redfish.Features)
	return l.client, l.client.Open(ctx)
}

// checkManagement reads the boot override. bmclib has fewer words for the boot
// device than Redfish: one that it does not know is as good as any.
func (l *redfishLink) checkManagement(ctx context.Context, client *bmclib.Client) error {
	_, err := client.GetBootDeviceOverride(ctx)
	if err == nil || l.transport.failed() != nil {
		return err
	}
	switch system, target := bootTarget(l.transport.lastBody()); {
	case target:
		return nil
	case system:
		return unsupported("the system has no boot override")
	default:
		return err
	}
}

// bound is the driver with each call bound to its context. The driver itself goes
// by a time limit that it gives its HTTP client at Open, for good.
type bound struct {
	*redfish.Conn
	transport *transport
}

func (d bound) Open(ctx context.Context) error {
	d.transport.use(ctx)
	return d.Conn.Open(context.WithoutCancel(ctx))
}

func (d bound) Close(ctx context.Context) error {
	d.transport.use(ctx)
	return d.Conn.Close(ctx)
}

func (d bound) PowerStateGet(ctx context.Context) (string, error) {
	d.transport.use(ctx)
	return d.Conn.PowerStateGet(ctx)
}

func (d bound) PowerSet(ctx context.Context, state string) (bool, error) {
	d.transport.use(ctx)
	return d.Conn.PowerSet(ctx, state)
}

func (d bound) BootDeviceOverrideGet(ctx context.Context) (bmclibbmc.BootDeviceOverride, error) {
	d.transport.use(ctx)
	return d.Conn.BootDeviceOverrideGet(ctx)
}

// urlHost returns the host as it stands in a URL before a port.
func urlHost(host string) string {
	if strings.Contains(host, ":") {
		return "[" + strings.ReplaceAll(host, "%", "%25") + "]"
	}
	return host
}

func (l *redfishLink) close(ctx context.Context) {
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
