// SPDX-License-Identifier: Apache-2.0

package bmc

import (
	"context"
	"net"
	"net/http"
	"strconv"

	bmclib "github.com/bmc-toolbox/bmclib/v2/providers/redfish"
	"github.com/go-logr/logr"

	"github.com/ironstate/ironstate/verify/bmc/internal/failure"
	"github.com/ironstate/ironstate/verify/bmc/internal/redfish"
)

// redfishConnection is Redfish over HTTPS, with bmclib's gofish driver.
type redfishConnection struct {
	host     string
	scrub    *failure.Scrubber
	client   *redfish.Client
	guard    *redfishGuard
	driver   *bmclib.Conn
	bootMode string // the boot mode to set beside a boot device, in Redfish's words; "" for none
	anyBIOS  bool   // see Config.AnyBIOSSetting
}

func newRedfish(c Config) *redfishConnection {
	host := net.JoinHostPort(c.Host, strconv.Itoa(c.RedfishPort))
	scrub := failure.NewScrubber(c.User, c.Password)
	client := redfish.New(redfish.Config{
		Address: host, TLS: tlsConfig(c), BasePath: c.BasePath, User: c.User, Password: c.Password, Auth: c.Auth,
		LoginGrace: loginGrace, Pause: c.Pause, Alternative: c.Protocol == autoProtocol,
		SystemID: c.SystemID, SystemName: c.SystemName,
		MaxBytes: c.MaxBytes, MaxAnswerBytes: c.MaxAnswerBytes, MaxRequests: c.MaxRequests, MaxMembers: c.MaxMembers,
		Scrubber: scrub,
	})
	guard := &redfishGuard{client: client}
	// Only the client has the user name and the password.
	driver := bmclib.New(guardHost, "none", "none", logr.Discard(),
		bmclib.WithPort(guardPort), bmclib.WithHttpClient(&http.Client{Transport: guard}))
	return &redfishConnection{
		host: host, scrub: scrub, client: client, guard: guard, driver: driver,
		bootMode: redfishModes[c.BootMode], anyBIOS: c.AnyBIOSSetting,
	}
}

func (r *redfishConnection) protocol() string { return redfishProtocol }

func (r *redfishConnection) address() string { return r.host }

func (r *redfishConnection) begin() { r.client.Begin() }

func (r *redfishConnection) expires() bool { return r.client.HasSession() }

func (r *redfishConnection) close(ctx context.Context) { r.client.Close(ctx) }

func (r *redfishConnection) scrubber() *failure.Scrubber { return r.scrub }

func (r *redfishConnection) open(ctx context.Context) error {
	r.client.Begin()
	return r.guard.call(ctx, func() error {
		// The driver would keep the context's deadline for all later requests.
		return r.driver.Open(context.WithoutCancel(ctx))
	})
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
	return word, r.guard.system.Get("PowerState", new(string))
}
