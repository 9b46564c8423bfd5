// SPDX-License-Identifier: Apache-2.0

package bmc_test

import (
	"context"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/verify/bmc"
)

// Requests for virtual media and BIOS settings have no other properties than these: some BMCs refuse
// properties that they do not know.
func TestChangesAsTheBMCSeesThem(t *testing.T) {
	const slot, bios = "/redfish/v1/Managers/1/VirtualMedia/CD", "/redfish/v1/Systems/1/Bios"
	for name, test := range map[string]struct {
		do   func(context.Context, *bmc.Driver) error
		want []string
	}{
		"insert into a slot with an image": {
			func(ctx context.Context, d *bmc.Driver) error {
				return d.InsertMedia(ctx, "node", "cdrom", "http://h/y")
			},
			[]string{"POST " + slot + "/eject {}", "POST " + slot + `/insert {"Image":"http://h/y"}`},
		},
		"eject": {
			func(ctx context.Context, d *bmc.Driver) error { return d.EjectMedia(ctx, "node") },
			[]string{"POST " + slot + "/eject {}"},
		},
		"read": {
			func(ctx context.Context, d *bmc.Driver) error { _, err := d.VirtualMedia(ctx, "node"); return err },
			nil,
		},
		"set BIOS settings": {
			func(ctx context.Context, d *bmc.Driver) error {
				_, err := d.SetBIOS(ctx, "node", map[string]any{"BootTimeout": "30"})
				return err
			},
			[]string{"PATCH " + bios + `/Settings {"@Redfish.SettingsApplyTime":{"ApplyTime":"OnReset"},"Attributes":{"BootTimeout":30}}`},
		},
		"reset BIOS settings": {
			func(ctx context.Context, d *bmc.Driver) error { return d.ResetBIOS(ctx, "node") },
			[]string{"POST " + bios + "/reset {}"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := &fuzzedBMC{}
			front := httptest.NewTLSServer(server)
			defer front.Close()
			config := configOfServer(front)
			config.SystemID = "1"
			d := newDriver(t, 0, map[string]bmc.Config{"node": config})
			require.NoError(t, test.do(t.Context(), d))
			require.Equal(t, test.want, server.changes)
			require.Zero(t, server.open, "the session is closed")
		})
	}
}
