// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// decoded returns an object as it is read from a BMC.
func decoded(t *testing.T, text string) (o object) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	require.NoError(t, decoder.Decode(&o))
	return o
}

func TestWhatTellsAMachineItsOwnerOrItsUsersIsReplaced(t *testing.T) {
	for name, test := range map[string]struct{ given, want string }{
		"a serial number, and where it is in a text": {
			`{"SerialNumber": " MXQ302099S ", "Name": "ILOMXQ302099S", "Model": "DL385", "Nothing": null, "On": true, "Count": 7}`,
			`{"SerialNumber": "SN000001", "Name": "ILOSN000001", "Model": "DL385", "Nothing": null, "On": true, "Count": 7}`},
		"numbers": {`{"SerialNumber": 4711, "PasswordHash": 5, "MinPasswordLength": 8}`,
			`{"SerialNumber": 0, "PasswordHash": 0, "MinPasswordLength": 8}`},
		"placeholders": {`{"SerialNumber": "N/A", "AssetTag": "", "UUID": "00000000-0000-0000-0000-000000000000", "SetupPassword": "Disabled"}`,
			`{"SerialNumber": "N/A", "AssetTag": "", "UUID": "00000000-0000-0000-0000-000000000000", "SetupPassword": "Disabled"}`},
		"one value in several spellings": {
			`{"MACAddress": "b4:2e:99:ad:e1:7f", "Permanent": "B4-2E-99-AD-E1-7F", "HostName": "", "FQDN": "AMIB42E99ADE17F.lab", ` +
				`"Text": "nic b42e99ade17f."}`,
			`{"MACAddress": "02:00:00:00:00:01", "Permanent": "02-00-00-00-00-01", "HostName": "", "FQDN": "host-1.example.test", ` +
				`"Text": "nic 020000000001."}`},
		"UUIDs": {
			`{"UUID": "4C4C4544-0035-3410-8050-C6C04F4E3233", "Id": "urn:uuid:4c4c4544-0035-3410-8050-c6c04f4e3233", ` +
				`"Bare": "4c4c4544003534108050c6c04f4e3233"}`,
			`{"UUID": "02000000-0000-0000-0000-000000000001", "Id": "urn:uuid:02000000-0000-0000-0000-000000000001", ` +
				`"Bare": "02000000000000000000000000000001"}`},
		"addresses, and not versions": {
			`{"Address": "10.1.2.3", "Mask": "255.255.255.0", "Any": "0.0.0.0", "V6": "fe80::1:2", "Text": "from 10.1.2.3, port 7", ` +
				`"FirmwareVersion": "22.31.10.14", "Version": "1.10.1.2.3"}`,
			`{"Address": "198.18.0.1", "Mask": "255.255.255.0", "Any": "0.0.0.0", "V6": "2001:db8::2", "Text": "from 198.18.0.1, port 7", ` +
				`"FirmwareVersion": "22.31.10.14", "Version": "1.10.1.2.3"}`},
		"hosts of URLs, and what is after a question mark": {
			`{"Where": "nfs://filer.corp/iso", "To": "https://u:p@10.1.2.3:8443/x?token=1", "Schema": "http://redfish.dmtf.org/schemas/v1/a.json"}`,
			`{"To": "https://198.18.0.1:8443/x", "Where": "nfs://host-1.example.test/iso", "Schema": "http://redfish.dmtf.org/schemas/v1/a.json"}`},
		"users": {
			`{"UserName": "jdoe", "Email": "jdoe@corp.example", "Property": "Boot/BootSourceOverrideTarget@Redfish.AllowableValues", ` +
				`"RoleId": "Operator", "By": "jdoe"}`,
			`{"UserName": "user-2", "Email": "user-1@example.test", "Property": "Boot/BootSourceOverrideTarget@Redfish.AllowableValues", ` +
				`"RoleId": "Operator", "By": "user-2"}`},
		"secrets": {
			`{"Password": "root", "Secret": "1111", "CommunityNames": ["public", "None"], ` +
				`"Certificate": "x", "Text": "a -----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE----- b", ` +
				`"Key": "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQDaaaaaaaaaaaaaaaaaaaaaaaaaa= x", "Note": "is horse 77"}`,
			`{"Password": "(removed)", "Secret": "(removed)", "CommunityNames": ["(removed)", "None"], ` +
				`"Certificate": "(removed)", "Text": "a (removed) b", "Key": "ssh-rsa (removed) x", "Note": "is (removed)"}`},
		"places and people": {
			`{"Location": {"PostalAddress": {"City": "Oslo"}, "Placement": {"Rack": "R7"}, "Contacts": [{"ContactName": "J"}], ` +
				`"PartLocation": {"ServiceLabel": "Bay 1"}}, "Issuer": "CN = x", "Building": "B 12"}`,
			`{"Location": {"PostalAddress": {}, "Placement": {}, "Contacts": [], "PartLocation": {"ServiceLabel": "Bay 1"}}, ` +
				`"Issuer": "(removed)", "Building": "place-1"}`},
		"attributes that have their names beside them": {
			`{"Attributes": [{"AttributeName": "ServerAssetTag", "CurrentValue": "Finance-0815", "DefaultValue": ""}, ` +
				`{"Name": "Speed", "Value": "Fast 0815"}]}`,
			`{"Attributes": [{"AttributeName": "ServerAssetTag", "CurrentValue": "SN000001", "DefaultValue": ""}, ` +
				`{"Name": "Speed", "Value": "Fast 0815"}]}`},
		"links and the names of properties": {
			`{"SerialNumber": "PHYF0815", "@odata.id": "/redfish/v1/Drives/Drive.PHYF0815%20a#/Parts/0", ` +
				`"Slot PHYF0815": {"@odata.type": "#Drive.v1_7_0.Drive"}}`,
			`{"SerialNumber": "SN000001", "@odata.id": "/redfish/v1/Drives/Drive.SN000001 a#/Parts/0", ` +
				`"Slot SN000001": {"@odata.type": "#Drive.v1_7_0.Drive"}}`},
		"messages, whose properties only have the names": {
			`{"@odata.type": "#MessageRegistry.v1_0_0.MessageRegistry", "Messages": {"HostName": "The name 7.", ` +
				`"Password": {"Issuer": "v1_10_0", "Mac": "b4:2e:99:ad:e1:7f"}}}`,
			`{"@odata.type": "#MessageRegistry.v1_0_0.MessageRegistry", "Messages": {"HostName": "The name 7.", ` +
				`"Password": {"Issuer": "v1_10_0", "Mac": "02:00:00:00:00:01"}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRedactor("horse 77", "root", "192.0.2.1")
			got := r.all(map[string]object{root: decoded(t, test.given)})
			text, err := json.Marshal(got[root])
			require.NoError(t, err)
			require.JSONEq(t, test.want, string(text))
		})
	}
}

// A value that is learned last is replaced in resources that were read first, and in paths.
func TestAStandInIsTheSameInAllResources(t *testing.T) {
	r := newRedactor("horse 77", "operator-7", "bmc-17.corp.example")
	got := r.all(map[string]object{
		root:                        {"Name": "BMC-17.corp.example of operator-7", "Chassis": object{"@odata.id": root + "/Chassis/CH-4711-A"}},
		root + "/Chassis/CH-4711-A": {"Id": "CH-4711-A", "SerialNumber": "CH-4711-A"},
	})
	require.Equal(t, map[string]object{
		root:                       {"Name": "host-1.example.test of user-1", "Chassis": object{"@odata.id": root + "/Chassis/SN000001"}},
		root + "/Chassis/SN000001": {"Id": "SN000001", "SerialNumber": "SN000001"},
	}, got)
	require.Equal(t, map[kind]int{host: 2, person: 1, identity: 1}, r.counts)
}

func TestAHostWithTheNameOfAPathLeavesThePath(t *testing.T) {
	got := newRedactor("", "systems", "redfish").all(map[string]object{
		root + "/Systems": {"@odata.id": root + "/Systems", "By": "systems", "On": "redfish"},
	})
	require.Equal(t, map[string]object{root + "/Systems": {"@odata.id": root + "/Systems", "By": "user-1", "On": "host-1.example.test"}}, got)
}

func TestAPasswordThatEveryPathHasIsNotReplaced(t *testing.T) {
	for _, password := range []string{"redfish", "abc", ""} {
		got := newRedactor(password, "u", "192.0.2.1").all(map[string]object{root: {"Id": "abcdef"}})
		require.Equal(t, map[string]object{root: {"Id": "abcdef"}}, got)
	}
}
