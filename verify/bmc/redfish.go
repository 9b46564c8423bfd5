// SPDX-License-Identifier: Apache-2.0

package bmc

import (
	"context"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc/internal/failure"
	"github.com/ironstate/ironstate/verify/bmc/internal/redfish"
	"github.com/ironstate/ironstate/verify/bmc/internal/schemas"
	"github.com/ironstate/ironstate/verify/secret"
)

// redfishConnection is Redfish over HTTPS.
type redfishConnection struct {
	host     string
	scrub    *failure.Scrubber
	hidden   []secret.Text // secrets that calls have brought; see hide
	client   *redfish.Client
	root     resource // the service root, once open
	bootMode string   // the boot mode to set beside a boot device, in Redfish's words; "" for none
	anyBIOS  bool     // see Config.AnyBIOSSetting
	pause    time.Duration
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
	return &redfishConnection{
		host: host, scrub: scrub, client: client, bootMode: redfishModes[c.BootMode], anyBIOS: c.AnyBIOSSetting, pause: c.Pause,
	}
}

func (r *redfishConnection) protocol() string { return redfishProtocol }

func (r *redfishConnection) address() string { return r.host }

func (r *redfishConnection) begin() {
	r.client.Begin()
	r.hidden = slices.DeleteFunc(r.hidden, failure.IsShort)
}

func (r *redfishConnection) expires() bool { return r.client.HasSession() }

func (r *redfishConnection) refused() bool {
	return failure.KindOf(r.client.Ended()) == verify.Credentials
}

// orEnded returns a failure, with the kind and the cause of what has ended the operation, if something has: that a
// request may have been carried out decides, and not what has failed before.
func orEnded(failed, ended error) error {
	if ended == nil || failed == nil {
		return failed
	}
	unknown := failure.Of(ended)
	unknown.Text = failed.Error()
	return unknown
}

func (r *redfishConnection) temporary() bool { return r.client.NoFreeSession() }

func (r *redfishConnection) close(ctx context.Context) { r.client.Close(ctx) }

func (r *redfishConnection) scrubber() *failure.Scrubber { return r.scrub.With(r.hidden...) }

// hide removes a secret from the errors of the call and of the connection's later calls, in which the BMC may still
// repeat it. A short secret concerns the call alone, since it withholds each error as a whole.
func (r *redfishConnection) hide(text string) {
	if !slices.ContainsFunc(r.hidden, func(known secret.Text) bool { return known.Reveal() == text }) {
		r.hidden = append(r.hidden, secret.New(text))
	}
}

func (r *redfishConnection) open(ctx context.Context) error {
	r.client.Begin()
	root, err := r.client.ReadRoot(ctx)
	if err != nil {
		return err
	}
	if r.root, err = r.decode(resource{answer: root}, new(schemas.Service)); err != nil {
		return err
	}
	return r.client.Login(ctx)
}
