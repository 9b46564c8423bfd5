// SPDX-License-Identifier: Apache-2.0

package bmc

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each property of a request depends on a few values alone. The rows have all combinations of them, and the test
// combines each row of one property with each row of the others.
func TestEachRequestForABootDevice(t *testing.T) {
	const u, l, o, c, d = "UEFI", "Legacy", once, continuous, disabled
	const old, null = `"http://boot.example/old.efi"`, "null"
	target := "Pxe"
	requests := 0
	for _, enabled := range []struct {
		now, wanted string
		needed      bool // by the BMC
		sent        string
	}{
		{"", o, false, o}, {d, o, false, o}, {o, o, false, ""}, {c, o, false, o},
		{"", c, false, c}, {d, c, false, c}, {o, c, false, c}, {c, c, false, ""},
		{"", o, true, o}, {d, o, true, o}, {o, o, true, o}, {c, o, true, o},
		{"", c, true, c}, {d, c, true, c}, {o, c, true, c}, {c, c, true, c},
	} {
		for _, mode := range []struct {
			now, wanted       string
			needed            bool // by the BMC
			sent, whole, left string
			before            map[string]string // what must be shown by what was shown before the first request
		}{
			{"", "", false, "", u, "", nil},
			{"", u, false, "", u, "", map[string]string{u: u}},
			{"", l, false, "", l, "", map[string]string{l: l}},
			{u, "", false, "", u, u, nil},
			{u, u, false, "", u, u, map[string]string{u: u}},
			{u, l, false, l, l, l, map[string]string{l: l}},
			{l, "", false, "", l, l, nil},
			{l, u, false, u, u, u, map[string]string{u: u}},
			{l, l, false, "", l, l, map[string]string{l: l}},
			{"", "", true, "", u, "", nil},
			{"", u, true, "", u, "", map[string]string{"": u, u: u, l: u}},
			{"", l, true, "", l, "", map[string]string{"": l, u: l, l: l}},
			{u, "", true, u, u, u, map[string]string{"": u, u: u, l: u}},
			{u, u, true, u, u, u, map[string]string{"": u, u: u, l: u}},
			{u, l, true, l, l, l, map[string]string{"": l, u: l, l: l}},
			{l, "", true, l, l, l, map[string]string{"": l, u: l, l: l}},
			{l, u, true, u, u, u, map[string]string{"": u, u: u, l: u}},
			{l, l, true, l, l, l, map[string]string{"": l, u: l, l: l}},
		} {
			for _, address := range []struct {
				now    string
				device string
				sent   string
			}{
				{"", "pxe", ""}, {null, "pxe", ""}, {`""`, "pxe", ""}, {old, "pxe", ""},
				{"", "uefihttp", ""}, {null, "uefihttp", ""}, {`""`, "uefihttp", ""}, {old, "uefihttp", null},
			} {
				uri := json.RawMessage(nil)
				if address.sent != "" {
					uri = json.RawMessage(address.sent)
				}
				for _, before := range []string{"", u, l} {
					for _, needsWhole := range []bool{false, true} {
						w := wantedBoot{
							device: bootDevice{word: address.device, target: target}, target: target, mode: mode.wanted, before: before,
							needs: bootNeeds{whole: needsWhole, enabled: enabled.needed, mode: mode.needed},
						}
						whole := boot{&target, enabled.wanted, mode.whole, uri}
						want := bootRequest{
							change: boot{&target, enabled.sent, mode.sent, uri}, whole: whole,
							repeated: boot{&target, enabled.wanted, mode.left, uri}, mode: mode.before[before],
						}
						if needsWhole {
							want.change, want.repeated = whole, whole
						}
						now := boot{&target, enabled.now, mode.now, json.RawMessage(address.now)}
						require.Equal(t, want, w.request(enabled.wanted, now), "%+v %+v", w, now)
						requests++
					}
				}
			}
		}
	}
	require.Equal(t, 16*18*8*3*2, requests)
}

func TestTheTargetThatABMCMustNotShowAnyMoreIsOneOfAnotherDevice(t *testing.T) {
	cd := bootDevice{word: "cdrom", target: "Cd", others: []string{"UsbCd"}}
	for shown, want := range map[string]string{"": "", "Cd": "", "cd": "", "USBCD": "", "None": "", "Hdd": "Hdd", "Pxe": "Pxe"} {
		now := boot{Target: &shown}
		if shown == "" {
			now.Target = nil
		}
		q := wantedBoot{device: cd, target: "Cd"}.request(once, now)
		require.Equal(t, want, q.older)
		for _, then := range []string{"", "Cd", "UsbCd", "None", "Hdd", "Pxe"} {
			contradicts := error(nil)
			if want != "" && then == want {
				contradicts = errNotApplied
			}
			require.Equal(t, contradicts, q.contradiction(boot{Target: &then, Enabled: once}), "%s, then %s", shown, then)
		}
		require.NoError(t, q.contradiction(boot{Enabled: once}))
	}
}

func TestWhatContradictsARequestForABootDevice(t *testing.T) {
	const u, l, o, c, d = "UEFI", "Legacy", once, continuous, disabled
	for _, enabled := range []struct {
		sent, shown string
		want        error
	}{
		{o, "", nil}, {o, d, errNotApplied}, {o, o, nil}, {o, c, nil},
		{c, "", nil}, {c, d, errNotApplied}, {c, o, errNotApplied}, {c, c, nil},
	} {
		for _, mode := range []struct {
			wanted, shown string
			want          error
		}{
			{"", "", nil}, {"", u, nil}, {"", l, nil}, {u, "", nil}, {u, u, nil}, {u, l, ErrBootMode},
			{l, "", nil}, {l, u, ErrBootMode}, {l, l, nil},
		} {
			q := bootRequest{whole: boot{Enabled: enabled.sent}, mode: mode.wanted}
			want := enabled.want
			if want == nil {
				want = mode.want
			}
			require.Equal(t, want, q.contradiction(boot{Enabled: enabled.shown, Mode: mode.shown}), "%+v %+v", enabled, mode)
		}
	}
}

func TestARequestForABootDeviceIsForTheResourceThatTakesIt(t *testing.T) {
	target := "Pxe"
	for _, test := range []struct {
		target        *string
		sent          string
		shown, wanted string
		want          string
	}{
		{&target, "", once, once, ""}, {&target, "", disabled, once, once}, {&target, once, once, once, once},
		{&target, once, disabled, once, once},
		{nil, "", disabled, once, ""}, {nil, "", once, once, ""},
	} {
		q := bootRequest{change: boot{Target: test.target, Enabled: test.sent}, whole: boot{Enabled: test.wanted}}
		want := q
		want.change.Enabled = test.want
		require.Equal(t, want, q.elsewhere(boot{Enabled: test.shown}), "%+v", test)
	}
}

func TestWhatABMCNeedsInARequestForABootDevice(t *testing.T) {
	whole, supermicro := bootNeeds{whole: true}, bootNeeds{enabled: true, mode: true}
	usb := supermicro
	usb.usbCD = true
	for _, test := range []struct {
		vendor, manufacturer, model string
		want                        bootNeeds
	}{
		{"", "", "", bootNeeds{}},
		{"", "American Megatrends", "", whole},
		{"AMI", "GIGABYTE", "", whole},
		{"", "AMI Inc", "", whole},
		{"", "American Megatrends, Inc.", "", whole},
		{"American Megatrends International LLC.", "", "", whole},
		{"", "(AMI)", "", whole},
		{"", "American-Megatrends", "", bootNeeds{}},
		{"", "Miami", "", bootNeeds{}},
		{"Supermicro", "AMI", "", bootNeeds{whole: true, enabled: true, mode: true}},
		{"", "Supermicro", "", usb},
		{"", "SUPERMICRO", "ARS-111GL-NHR", supermicro},
		{"Supermicro", "Contoso", "", supermicro},
		{"", "Supermicro Inc", "", bootNeeds{}},
	} {
		require.Equal(t, test.want, bootNeedsOf(test.vendor, test.manufacturer, test.model), "%+v", test)
	}
}
