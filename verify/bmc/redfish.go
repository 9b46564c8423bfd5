// SPDX-License-Identifier: Apache-2.0

package bmc

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"strconv"
	"syscall"

	"github.com/bmc-toolbox/bmclib/v2/providers/redfish"
	"github.com/go-logr/logr"

	"github.com/ironstate/ironstate/verify/bmc/internal/failure"
)

// redfishConnection is Redfish over HTTPS, with bmclib's gofish driver.
type redfishConnection struct {
	service *service
	guard   *redfishGuard
	driver  *redfish.Conn
}

func newRedfish(c Config) *redfishConnection {
	r := new(redfishConnection)
	r.service = newService(c, net.JoinHostPort(c.Host, strconv.Itoa(c.RedfishPort)))
	r.guard = &redfishGuard{service: r.service, root: true}
	// Only the service has the user name and the password.
	r.driver = redfish.New(guardHost, "none", "none", logr.Discard(),
		redfish.WithPort(guardPort), redfish.WithHttpClient(&http.Client{Transport: r.guard}))
	return r
}

func (r *redfishConnection) protocol() string { return redfishProtocol }

func (r *redfishConnection) address() string { return r.service.host }

func (r *redfishConnection) open(ctx context.Context) error {
	r.service.begin()
	return r.guard.call(ctx, func() error {
		// The driver would keep the context's deadline for all later requests.
		return r.driver.Open(context.WithoutCancel(ctx))
	})
}

// checkManagement reads the boot override of the system. bmclib has fewer words for the
// boot device than Redfish: a device that it does not know is valid too.
func (r *redfishConnection) checkManagement(ctx context.Context) error {
	err := r.guard.call(ctx, func() error {
		_, err := r.driver.BootDeviceOverrideGet(ctx)
		return err
	})
	if r.guard.system == nil {
		return cmp.Or(err, errNotRead)
	}
	boot, malformed := r.guard.system.boot()
	switch {
	case malformed != nil:
		return malformed
	case boot.Target == nil:
		return failure.Unsupportedf("the system has no boot override")
	}
	return nil
}

func (r *redfishConnection) powerState(ctx context.Context) (word string, err error) {
	err = r.guard.call(ctx, func() error {
		word, err = r.driver.PowerStateGet(ctx)
		return err
	})
	if err != nil {
		return "", err
	}
	if r.guard.system == nil {
		return "", errNotRead
	}
	return word, r.guard.system.get("PowerState", new(string))
}

// resetTypes maps the words of setPower to Redfish's ResetType.
var resetTypes = map[string]string{"on": "On", "off": "ForceOff", "soft": "GracefulShutdown", "cycle": "ForceRestart", nmi: "Nmi"}

func (r *redfishConnection) setPower(ctx context.Context, word string) error {
	err := r.guard.call(ctx, func() error {
		if word == nmi {
			return r.driver.SendNMI(ctx)
		}
		_, err := r.driver.PowerSet(ctx, word) // false without an error: requested, but not reached yet
		return err
	})
	if err == nil || r.guard.failed != nil || r.guard.system == nil {
		return err
	}
	// The driver sends no ResetType that the system does not name.
	action, malformed := r.guard.system.resetAction()
	if malformed == nil && len(action.Allowed) > 0 && !slices.Contains(action.Allowed, resetTypes[word]) {
		return failure.Unsupportedf("the system has the reset types %q and not %q", action.Allowed, resetTypes[word])
	}
	return err
}

func (r *redfishConnection) begin() { r.service.begin() }

func (r *redfishConnection) expires() bool { return r.service.session != nil }

func (r *redfishConnection) close(ctx context.Context) {
	r.service.logout(ctx)
	r.service.close()
}

func (r *redfishConnection) scrubber() *failure.Scrubber { return r.service.scrub }

// absent reports whether a failed attempt shows that there is no Redfish: its port is
// closed, or the server has no service root, and no credentials were sent yet.
func (r *redfishConnection) absent(err error) bool {
	return !r.service.tried && (errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, errNoServiceRoot))
}
