// SPDX-License-Identifier: Apache-2.0

package lockstep

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"time"

	"github.com/ironstate/ironstate/internal/try"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
	"github.com/ironstate/ironstate/verify/secret"
)

const (
	user     = "admin"
	password = "correct-horse"
	wrong    = "wrong-horse"
	cipher   = "3" // the cipher suite that ipmi_sim supports
)

// verifyTimeout bounds a verification by package bmc, so that only a difference takes this long.
const verifyTimeout = 5 * time.Minute

// verification requests manage for nodes in enroll on BMCs of ipmi_sim, on and
// off, with a right and a wrong password. It compares Ironic with its ipmitool driver
// to [verify.Manage] with package bmc.
func (c *Comparison) verification(ctx context.Context, i *Ironic) {
	for _, power := range []string{"on", "off"} {
		for _, secret := range []string{password, wrong} {
			want, got := i.verifyBoth(ctx, power, secret)
			c.compare(want, got, "manage, power %s, password %q of %q", power, secret, password)
		}
	}
}

// verifyBoth verifies a BMC with both systems and describes the node in each of them.
func (i *Ironic) verifyBoth(ctx context.Context, power, secret string) (want, got string) {
	server := newBMC(ctx, power)
	defer try.Finally(server.Close)
	return i.verified(ctx, server, secret), verified(ctx, i.Installation, server, secret)
}

func newBMC(ctx context.Context, power string) *bmctest.IPMI {
	server, err := bmctest.NewIPMI(ctx, bmctest.IPMIConfig{Users: map[string]secret.Text{user: secret.New(password)}, Power: power})
	if errors.Is(err, exec.ErrNotFound) {
		err = fmt.Errorf("%w: %w", ErrNotInstalled, err)
	}
	try.OK(err)
	return server
}

// verified describes a node after Ironic has verified it.
func (i *Ironic) verified(ctx context.Context, server *bmctest.IPMI, secret string) string {
	uuid := i.newIPMINode(ctx, server, secret)
	if answer := i.request(ctx, i.newest(), uuid, "manage"); answer.Status != http.StatusAccepted {
		return answer.Fault
	}
	return await(ctx, 100*time.Millisecond, func() (string, bool) {
		node, _ := i.Client.Show(ctx, i.newest(), uuid)
		return fmt.Sprintf("%s, %v", describeNode(node.Node), node.Power), node.State != states.Verifying && node.Reservation == ""
	})
}

// newIPMINode creates a node of the hardware type ipmi and returns its UUID.
func (i *Ironic) newIPMINode(ctx context.Context, server *bmctest.IPMI, secret string) string {
	return i.created(ctx, i.newest(), map[string]any{
		"driver": "ipmi",
		"driver_info": map[string]any{
			"ipmi_address":      server.Host,
			"ipmi_port":         server.Port,
			"ipmi_username":     user,
			"ipmi_password":     secret,
			"ipmi_cipher_suite": cipher,
		},
	}).UUID
}

// verified describes a node after [verify.Manage] has verified it.
func verified(ctx context.Context, i Installation, server *bmctest.IPMI, word string) string {
	m := try.Get(machine.New(machine.Config{Table: i.table(), Node: machine.Node{State: i.newest().InitialState()}}))
	power, err := verify.Manage(ctx, m, try.Get(bmc.New(configOf(server, word, verifyTimeout))))
	if (err == nil) != (m.Node().LastError == "") {
		try.Failf("lockstep: the error %w and the last error %q do not fit", err, m.Node().LastError)
	}
	return fmt.Sprintf("%s, %v", describeNode(m.Node()), power)
}

// configOf returns how package bmc reaches a BMC.
func configOf(server *bmctest.IPMI, word string, timeout time.Duration) bmc.Config {
	return bmc.Config{
		Host: server.Host, IPMIPort: server.Port, User: user, Password: secret.New(word), Protocol: "ipmi", CipherSuite: cipher,
		Timeout: timeout,
	}
}
