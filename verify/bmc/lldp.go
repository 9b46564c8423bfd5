// SPDX-License-Identifier: Apache-2.0

package bmc

import (
	"context"

	"github.com/ironstate/ironstate/verify/bmc/internal/schemas"
)

// Neighbor is what a switch says of itself by LLDP to a port of a machine's network adapter. Its JSON is an entry of
// parsed_lldp in the plugin data that Ironic's Redfish inspection stores. A value that the BMC does not report
// is empty.
//
// Source: _convert_lldp_receive_to_dict in ironic/drivers/modules/redfish/inspect.py.
type Neighbor struct {
	ChassisID         string `json:"switch_chassis_id,omitzero"`
	PortID            string `json:"switch_port_id,omitzero"`
	SystemName        string `json:"switch_system_name,omitzero"`
	SystemDescription string `json:"switch_system_description,omitzero"`
	VLAN              int    `json:"switch_vlan_id,omitzero"` // for the management of the switch
}

// Neighbors reads over Redfish what the ports of a machine's network adapters have received by LLDP, by the ID of the
// port, with up to 1,000 requests in up to 120 s, whatever the limits of the Config; none if the BMC does not report
// it. If some ports cannot be read, it returns the others beside the error. Over IPMI the error is of the kind
// [verify.Unsupported].
//
// Source: _collect_lldp_data in ironic/drivers/modules/redfish/inspect.py, and LLDPReceive in DMTF's schema of Port,
// https://redfish.dmtf.org/schemas/v1/Port.v1_12_0.json.
func (d *Driver) Neighbors(ctx context.Context, id string) (map[string]Neighbor, error) {
	return fromSystem(ctx, d, call{id: id, op: "read the LLDP data", long: true}, func(r *reader) (map[string]Neighbor, error) {
		all := map[string]Neighbor{}
		r.adapters(func(_ *schemas.NetworkAdapter, adapter resource) {
			readMembers(r, adapter.link("Ports"), func(p *schemas.Port, _ resource) {
				lldp := p.Ethernet.LLDPReceive
				found := Neighbor{lldp.ChassisID, lldp.PortID, lldp.SystemName, lldp.SystemDescription, lldp.ManagementVlanID}
				if p.ID != "" && found != (Neighbor{}) {
					all[p.ID] = found
				}
			})
		})
		return all, r.err()
	})
}

// adapters calls take with each network adapter of the system's chassis that can be read.
func (r *reader) adapters(take func(*schemas.NetworkAdapter, resource)) {
	readEach(r, r.links("Links", "Chassis"), func(_ *schemas.Chassis, chassis resource) {
		readMembers(r, chassis.link("NetworkAdapters"), take)
	})
}
