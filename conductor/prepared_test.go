// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
)

// asked is a hardware type that notes the questions about a node, during the first of which another writer changes the
// node's record.
type asked struct {
	*conductor.Fake
	about     []any // the key "of" of driver_info at each question
	meanwhile func()
}

func (h *asked) Validate(n *conductor.Node) map[string]error {
	if h.meanwhile == nil {
		return nil
	}
	h.about = append(h.about, n.DriverInfo["of"])
	if len(h.about) == 1 {
		h.meanwhile()
	}
	return nil
}

func TestAHardwareTypeIsAskedAgainOnlyIfItsAnswerMayHaveChanged(t *testing.T) {
	power := func(f *fleet, id string) error { return f.SetPower(f.ctx, id, states.PowerOn, 0) }
	deploy := func(f *fleet, id string) error {
		return f.Provision(f.ctx, id, conductor.ProvisionRequest{Target: "active", Version: states.Latest().MaxAPIVersion()})
	}
	lock := func(f *fleet, id string) error { return f.TouchNode(f.ctx, id) }
	configure := func(f *fleet, id string) error {
		_, err := f.UpdateNode(f.ctx, id, func(n *conductor.Node) error {
			n.DriverInfo = map[string]any{"of": "another machine"}
			return nil
		})
		return err
	}
	for name, test := range map[string]struct {
		request, meanwhile func(*fleet, string) error
		about              []any
	}{
		"a request for power, and the lock of another request":  {power, lock, []any{nil}},
		"a request for power, and another configuration":        {power, configure, []any{nil, "another machine"}},
		"a request for deployment, and the lock of another one": {deploy, lock, []any{nil}},
		"a request for deployment, and another configuration":   {deploy, configure, []any{nil, "another machine"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				hardware := &asked{Fake: &conductor.Fake{}}
				f := start(t, func(c *conductor.Config) {
					c.Hardware, c.SkipPowerSync = map[string]conductor.Hardware{"fake-hardware": hardware}, true
				})
				n, err := f.CreateNode(f.ctx, &conductor.Node{Driver: "fake-hardware", ProvisionState: states.Available})
				require.NoError(t, err)
				hardware.meanwhile = func() { require.NoError(t, test.meanwhile(f, n.UUID)) }
				require.NoError(t, test.request(f, n.UUID))
				require.Equal(t, test.about, hardware.about)
				f.settle(n)
			})
		})
	}
}
