// SPDX-License-Identifier: Apache-2.0

package hardwaretest_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/hardwaretest"
)

// unfenced is a context whose requests need no permission.
type unfenced struct{ context.Context }

func (unfenced) Value(any) any { return nil }

// managed is fake-hardware that logs in to read boot devices, with management functions and an exclusive vendor method:
// one of these sends a request without a permission.
type managed struct {
	*conductor.Fake
	sends string
}

func (m managed) do(ctx context.Context, n *conductor.Node, name string) error {
	if name == m.sends {
		ctx = unfenced{ctx}
	}
	_, err := m.Fake.PowerState(ctx, n)
	return err
}

func (m managed) BootDevices(ctx context.Context, n *conductor.Node) ([]string, error) {
	if err := m.do(ctx, n, "BootDevices"); err != nil {
		return nil, err
	}
	return m.Fake.BootDevices(ctx, n)
}

func (m managed) BootDevice(ctx context.Context, n *conductor.Node) (device string, persistent bool, err error) {
	if err := m.do(ctx, n, "BootDevice"); err != nil {
		return "", false, err
	}
	return m.Fake.BootDevice(ctx, n)
}

func (m managed) InjectNMI(ctx context.Context, n *conductor.Node) error {
	return m.do(ctx, n, "InjectNMI")
}

func (m managed) SetBootMode(ctx context.Context, n *conductor.Node, _ string) error {
	return m.do(ctx, n, "SetBootMode")
}

func (m managed) SetSecureBoot(ctx context.Context, n *conductor.Node, _ bool) error {
	return m.do(ctx, n, "SetSecureBoot")
}

func (m managed) VirtualMedia(ctx context.Context, n *conductor.Node) ([]conductor.VirtualMedia, error) {
	return nil, m.do(ctx, n, "VirtualMedia")
}

func (m managed) AttachVirtualMedia(ctx context.Context, n *conductor.Node, _, _ string) error {
	return m.do(ctx, n, "AttachVirtualMedia")
}

func (m managed) DetachVirtualMedia(ctx context.Context, n *conductor.Node, _ []string) error {
	return m.do(ctx, n, "DetachVirtualMedia")
}

func (m managed) VendorMethods(*conductor.Node) map[string]conductor.VendorMethod {
	return map[string]conductor.VendorMethod{"blink": {Exclusive: true}, "shared": {}}
}

func (m managed) CallVendor(ctx context.Context, n *conductor.Node, method string, _ map[string]any) (any, error) {
	return nil, m.do(ctx, n, "CallVendor "+method)
}

func TestWhatSendsWithoutAPermissionIsReported(t *testing.T) {
	for _, name := range []string{
		"", "BootDevices", "BootDevice", "InjectNMI", "SetBootMode", "SetSecureBoot",
		"VirtualMedia", "AttachVirtualMedia", "DetachVirtualMedia", "CallVendor blink",
	} {
		c, f := newFake()
		c.Hardware = managed{f, name}
		err := hardwaretest.Check(c)
		if name == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, "nothing is sent without a permission: "+name+" sent 1 requests")
	}
	c, f := newFake()
	c.Hardware = managed{f, "CallVendor shared"}
	require.NoError(t, hardwaretest.Check(c), "a shared method needs no permission")
}
