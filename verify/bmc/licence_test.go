// SPDX-License-Identifier: Apache-2.0

package bmc_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

const noLicence = "the BMC has no licence for it"

// unlicensed answers requests for a path as a Supermicro without a licence does.
func unlicensed(path string) bmctest.Fault {
	const answer = `{"error": {"code": "SMC.1.0.OemLicenseNotPassed", "message": "Not licensed to perform this request."}}`
	do := new(refusing).effect(func(*http.Request, string) (int, string) { return http.StatusForbidden, answer })
	return bmctest.Fault{On: path, Do: do}
}

// A machine whose disks may not be read is no machine without disks.
func TestAnInspectionWithoutALicenceIsIncomplete(t *testing.T) {
	for _, path := range []string{"/Storage", "/Processors", "/EthernetInterfaces"} {
		server := startRedfish(t, withMACs)
		whole, err := inspected(t, server)
		require.NoError(t, err)
		server.AddFault(unlicensed(systemPath + path))
		found, err := inspected(t, server)
		require.ErrorIs(t, err, verify.Unsupported, path)
		require.ErrorContains(t, err, noLicence, path)
		require.Equal(t, whole.Memory, found.Memory, "the other parts are there")
		require.Equal(t, path != "/Storage", found.LocalGB > 0, path)
	}
}

func TestMediaWithoutALicenceAreAnError(t *testing.T) {
	insert := func(d *bmc.Driver) error { return d.InsertMedia(t.Context(), "node", "cdrom", image) }
	eject := func(d *bmc.Driver) error { return d.EjectMedia(t.Context(), "node") }
	show := func(d *bmc.Driver) error {
		_, err := d.VirtualMedia(t.Context(), "node")
		return err
	}
	const list = "/redfish/v1/Managers/bmc/VirtualMedia"
	for name, test := range map[string]struct {
		path string
		do   func(*bmc.Driver) error
	}{
		"list, insert": {list, insert}, "list, eject": {list, eject}, "list, show": {list, show},
		"slot, insert": {slotCD, insert}, "slot, eject": {slotCD, eject}, "slot, show": {slotCD, show},
		"action, insert": {insertCD, insert}, "action, eject": {ejectCD, eject},
	} {
		d, server := vendorDriver(t)
		require.NoError(t, insert(d))
		server.AddFault(unlicensed(test.path))
		err := test.do(d)
		require.ErrorIs(t, err, verify.Unsupported, name)
		require.ErrorContains(t, err, noLicence, name)
		require.NotErrorIs(t, err, bmc.ErrKept, name)
	}
}
