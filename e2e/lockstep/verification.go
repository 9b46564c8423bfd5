// SPDX-License-Identifier: Apache-2.0

package lockstep

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"time"

	"github.com/ironstate/ironstate/internal/sleep"
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

// compareVerification requests manage for nodes in enroll on BMCs of ipmi_sim, on and
// off, with a right and a wrong password. It compares Ironic with its ipmitool driver
// to [verify.Manage] with package bmc.
func compareVerification(ctx context.Context, i *Ironic) (Comparison, error) {
	c := Comparison{Name: "verification over IPMI, right and wrong password"}
	for _, power := range []string{"on", "off"} {
		for _, secret := range []string{password, wrong} {
			want, got, err := i.verifyBoth(ctx, power, secret)
			if err != nil {
				return c, err
			}
			c.compare(want, got, "manage, power %s, password %q of %q", power, secret, password)
		}
	}
	return c, nil
}

// verifyBoth verifies a BMC with both systems and describes the node in each of them.
func (i *Ironic) verifyBoth(ctx context.Context, power, secret string) (want, got string, err error) {
	server, err := newBMC(ctx, power)
	if err != nil {
		return "", "", err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	if want, err = i.verified(ctx, server, secret); err != nil {
		return "", "", err
	}
	got, err = verified(ctx, i.Installation, server, secret)
	return want, got, err
}

func newBMC(ctx context.Context, power string) (*bmctest.IPMI, error) {
	server, err := bmctest.NewIPMI(ctx, bmctest.IPMIConfig{Users: map[string]secret.Text{user: secret.New(password)}, Power: power})
	if errors.Is(err, exec.ErrNotFound) {
		err = fmt.Errorf("%w: %w", ErrNotInstalled, err)
	}
	return server, err
}

// verified describes a node after Ironic has verified it.
func (i *Ironic) verified(ctx context.Context, server *bmctest.IPMI, secret string) (string, error) {
	uuid, err := i.newIPMINode(ctx, server, secret)
	if err != nil {
		return "", err
	}
	answer, err := i.request(ctx, i.newest(), uuid, "manage")
	if err != nil || answer.Status != http.StatusAccepted {
		return answer.Fault, err
	}
	return sleep.Until(ctx, 100*time.Millisecond, func() (string, bool, error) {
		node, _, err := i.Client.Show(ctx, i.newest(), uuid)
		if err != nil {
			return "", false, err
		}
		return fmt.Sprintf("%s, %v", describeNode(node.Node), node.Power), node.State != states.Verifying && node.Reservation == "", nil
	})
}

// newIPMINode creates a node of the hardware type ipmi and returns its UUID.
func (i *Ironic) newIPMINode(ctx context.Context, server *bmctest.IPMI, secret string) (string, error) {
	node, answer, err := i.Client.Create(ctx, i.newest(), map[string]any{
		"driver": "ipmi",
		"driver_info": map[string]any{
			"ipmi_address":      server.Host,
			"ipmi_port":         server.Port,
			"ipmi_username":     user,
			"ipmi_password":     secret,
			"ipmi_cipher_suite": cipher,
		},
	})
	if err == nil && answer.Status != http.StatusCreated {
		err = fmt.Errorf("lockstep: create a node: %s", answer.Fault)
	}
	return node.UUID, err
}

// verified describes a node after [verify.Manage] has verified it.
func verified(ctx context.Context, i Installation, server *bmctest.IPMI, word string) (string, error) {
	m, err := machine.New(machine.Config{
		Table: i.table(),
		Node:  machine.Node{State: i.newest().InitialState()},
	})
	if err != nil {
		return "", err
	}
	v, err := bmc.New(bmc.Config{
		Host:        server.Host,
		IPMIPort:    server.Port,
		User:        user,
		Password:    secret.New(word),
		Protocol:    "ipmi",
		CipherSuite: cipher,
		Timeout:     verifyTimeout,
	})
	if err != nil {
		return "", err
	}
	power, err := verify.Manage(ctx, m, v)
	if (err == nil) != (m.Node().LastError == "") {
		return "", fmt.Errorf("lockstep: the error %w and the last error %q do not fit", err, m.Node().LastError)
	}
	return fmt.Sprintf("%s, %v", describeNode(m.Node()), power), nil
}
