package bmc

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strconv"
	"syscall"

	"github.com/bmc-toolbox/bmclib/v2/providers/redfish"
	"github.com/go-logr/logr"
)

// redfishConnection is Redfish over HTTPS, by bmclib's gofish driver.
type redfishConnection struct {
	service *service
	model   *model
	driver  *redfish.Conn
}

func newRedfish(c Config) *redfishConnection {
	r := new(redfishConnection)
	r.service = newService(c, net.JoinHostPort(c.Host, strconv.Itoa(c.RedfishPort)))
	r.model = &model{service: r.service}
	// The name and the password are the service's to know: the driver only has to
	// log in somewhere.
	r.driver = redfish.New("model", "none", "none", logr.Discard(),
		redfish.WithHttpClient(&http.Client{Transport: r.model}))
	return r
}

func (r *redfishConnection) protocol() string { return redfishProtocol }

func (r *redfishConnection) address() string { return r.service.host }

func (r *redfishConnection) open(ctx context.Context) error {
	r.service.begin()
	return r.model.call(ctx, func() error {
		// The driver would take a time limit from a context for good.
		return r.driver.Open(context.WithoutCancel(ctx))
	})
}

// checkManagement reads the boot override of the system. bmclib has fewer words
// for the boot device than Redfish: one that it does not know is as good as any.
func (r *redfishConnection) checkManagement(ctx context.Context) error {
	err := r.model.call(ctx, func() error {
		_, err := r.driver.BootDeviceOverrideGet(ctx)
		return err
	})
	if r.model.system == nil {
		return err
	}
	boot, malformed := r.model.system.boot()
	switch {
	case malformed != nil:
		return malformed
	case boot.Target == nil:
		return unsupported("the system has no boot override")
	}
	return nil
}

func (r *redfishConnection) powerState(ctx context.Context) (word string, err error) {
	err = r.model.call(ctx, func() error {
		word, err = r.driver.PowerStateGet(ctx)
		return err
	})
	if err == nil {
		err = r.model.system.get("PowerState", new(string))
	}
	return word, err
}

func (r *redfishConnection) setPower(ctx context.Context, word string) error {
	return r.model.call(ctx, func() error {
		_, err := r.driver.PowerSet(ctx, word) // false without an error: asked for, and not there yet
		return err
	})
}

func (r *redfishConnection) begin() { r.service.begin() }

func (r *redfishConnection) expires() bool { return r.service.session != nil }

func (r *redfishConnection) close(ctx context.Context) {
	r.service.logout(ctx)
	r.service.close()
}

func (r *redfishConnection) scrubber() *scrubber { return r.service.scrub }

// absent reports whether an attempt that failed shows that there is no Redfish:
// its port is closed, or what answers has no service root, and no credentials
// were sent yet.
func (r *redfishConnection) absent(err error) bool {
	return !r.service.tried && (errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, errNoServiceRoot))
}
