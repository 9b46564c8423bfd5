// SPDX-License-Identifier: Apache-2.0

package bmc_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc"
	"github.com/ironstate/ironstate/verify/secret"
)

// bender mutates JSON documents as its script says; without a script it changes
// nothing.
type bender struct{ script []byte }

func (b *bender) next(n int) int {
	if len(b.script) == 0 {
		return 0
	}
	first := int(b.script[0])
	b.script = b.script[1:]
	return first % n
}

// oddities replace values; the strings replace links too.
var oddities = []any{
	nil, true, -1, 1e308, "", "On", password, []any{}, []any{nil}, map[string]any{}, map[string]any{"@odata.id": nil},
	":%zz", "//evil.invalid/", "https://evil.invalid/redfish/v1/Systems/1", "/redfish/v1/../../x", "%2e%2e/%2e%2e/x", "@evil.invalid/",
	"?page=2", "#x", "/redfish/v1/Systems?page=3", "/redfish/v1/", "/redfish/v1/SessionService/Sessions", "\x00\n\r",
	strings.Repeat("A", 1<<16),
	json.Number("1e999999"), []any{[]any{[]any{[]any{}}}},
}

func (b *bender) bend(value any) any {
	switch b.next(8) {
	case 1:
		return oddities[b.next(len(oddities))]
	case 2:
		return []any{value, value}
	case 3:
		return map[string]any{"@odata.id": value}
	}
	switch v := value.(type) {
	case map[string]any:
		bent := make(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(v)) {
			switch b.next(16) {
			case 1:
				continue
			case 2:
				bent[strings.ToLower(key)] = v[key]
			default:
				bent[key] = b.bend(v[key])
			}
		}
		if b.next(16) == 1 {
			bent["Members@odata.nextLink"] = oddities[b.next(len(oddities))]
		}
		return bent
	case []any:
		var bent []any
		for _, element := range v {
			for range 1 + b.next(4)*b.next(40) {
				bent = append(bent, b.bend(element))
			}
		}
		return bent
	}
	return value
}

// fuzzedBMC is a Redfish service with mutated answers.
type fuzzedBMC struct {
	mu       sync.Mutex
	bender   bender
	requests int
	logins   int
	open     int
	changes  []string // the requests that are no GET, without those for sessions
}

// resources are the answers before their mutation.
var resources = map[string]string{
	"GET /redfish/v1/": `{"Registries": {"@odata.id": "/redfish/v1/Registries"}, "Systems": {"@odata.id": "/redfish/v1/Systems"},
		"SessionService": {"@odata.id": "/redfish/v1/SessionService"}, "EventService": {"@odata.id": "/redfish/v1/EventService"},
		"Links": {"Sessions": {"@odata.id": "/redfish/v1/SessionService/Sessions"}}}`,
	"POST /redfish/v1/SessionService/Sessions": `{"@odata.id": "/redfish/v1/SessionService/Sessions/1", "Id": "1"}`,
	"GET /redfish/v1/Systems": `{"Members": [{"@odata.id": "/redfish/v1/Systems/1"}, ` +
		`{"@odata.id": "/redfish/v1/Systems/2"}]}`,
	"GET /redfish/v1/Systems/1": `{"@odata.type": "#ComputerSystem.v1_22_0.ComputerSystem", "Id": "1", "Name": "node", "PowerState": "On",
		"Status": {"State": "Enabled", "Health": "Warning"}, "Manufacturer": "m",
		"Boot": {"BootSourceOverrideTarget": "None", "BootSourceOverrideEnabled": "Once", "BootSourceOverrideMode": "UEFI"},
		"MemorySummary": {"TotalSystemMemoryGiB": 0}, "ProcessorSummary": {"LogicalProcessorCount": 32}, "Model": "m", "SerialNumber": "s",
		"Processors": {"@odata.id": "/redfish/v1/Systems/1/Processors"}, "Memory": {"@odata.id": "/redfish/v1/Systems/1/Memory"},
		"Links": {"ManagedBy": [{"@odata.id": "/redfish/v1/Managers/1"}], "Chassis": [{"@odata.id": "/redfish/v1/Chassis/1"}]},
		"BiosVersion": "1.8", "Bios": {"@odata.id": "/redfish/v1/Systems/1/Bios"},
		"SecureBoot": {"@odata.id": "/redfish/v1/Systems/1/SecureBoot"}, "Storage": {"@odata.id": "/redfish/v1/Systems/1/Storage"},
		"EthernetInterfaces": {"@odata.id": "/redfish/v1/Systems/1/NICs"},
		"Actions": {"#ComputerSystem.Reset": {"target": "/redfish/v1/Systems/1/Actions/ComputerSystem.Reset",
			"ResetType@Redfish.AllowableValues": ["On", "ForceOff"]}}}`,
	"GET /redfish/v1/EventService": `{"Id": "EventService", "EventTypesForSubscription": ["Alert"],
		"Subscriptions": {"@odata.id": "/redfish/v1/EventService/Subscriptions"}}`,
	"GET /redfish/v1/EventService/Subscriptions": `{"Members": [{"@odata.id": "/redfish/v1/EventService/Subscriptions/1"}]}`,
	"GET /redfish/v1/EventService/Subscriptions/1": `{"@odata.id": "/redfish/v1/EventService/Subscriptions/1", "Id": "1",
		"Destination": "https://h/events", "Protocol": "Redfish", "Context": "c", "EventTypes": ["Alert"]}`,
	"POST /redfish/v1/EventService/Subscriptions": `{"@odata.id": "/redfish/v1/EventService/Subscriptions/1", "Id": "1",
		"Destination": "https://h/events", "Protocol": "Redfish", "Context": "c", "EventTypes": ["Alert"]}`,
	"GET /redfish/v1/Systems/2":            `{"Name": "other", "PowerState": "Off"}`,
	"GET /redfish/v1/Systems/1/Processors": `{"Members": [{"@odata.id": "/redfish/v1/Systems/1/Processors/1"}]}`,
	"GET /redfish/v1/Systems/1/Processors/1": `{"Id": "1", "ProcessorType": "CPU", "InstructionSet": "x86-64", "Model": "m",
		"MaxSpeedMHz": 3200, "TotalThreads": 32, "Status": {"State": "Enabled"}}`,
	"GET /redfish/v1/Systems/1/Memory":   `{"Members": [{"@odata.id": "/redfish/v1/Systems/1/Memory/1"}]}`,
	"GET /redfish/v1/Systems/1/Memory/1": `{"Id": "1", "CapacityMiB": 65536}`,
	"GET /redfish/v1/Systems/1/Storage":  `{"Members": [{"@odata.id": "/redfish/v1/Systems/1/Storage/1"}]}`,
	"GET /redfish/v1/Systems/1/Storage/1": `{"Id": "1", "Name": "RAID",
		"Drives": [{"@odata.id": "/redfish/v1/Drives/1"}, {"@odata.id": "/redfish/v1/Drives/2"}],
		"StorageControllers": [{"MemberId": "0"}], "Volumes": {"@odata.id": "/redfish/v1/Systems/1/Storage/1/Volumes"}}`,
	"GET /redfish/v1/Managers/1": `{"Id": "1", "FirmwareVersion": "2", ` +
		`"VirtualMedia": {"@odata.id": "/redfish/v1/Managers/1/VirtualMedia"}}`,
	"GET /redfish/v1/Managers/1/VirtualMedia": `{"Members": [{"@odata.id": "/redfish/v1/Managers/1/VirtualMedia/CD"}]}`,
	"GET /redfish/v1/Managers/1/VirtualMedia/CD": `{"Id": "CD", "MediaTypes": ["CD", "DVD"], "Inserted": true, "Image": "http://h/x",
		"Actions": {"#VirtualMedia.InsertMedia": {"target": "/redfish/v1/Managers/1/VirtualMedia/CD/insert"},
		"#VirtualMedia.EjectMedia": {"target": "/redfish/v1/Managers/1/VirtualMedia/CD/eject"}}}`,
	"GET /redfish/v1/Systems/1/Bios": `{"Id": "Bios", "AttributeRegistry": "BiosAttributeRegistry.1",
		"Attributes": {"BootTimeout": 5, "QuietBoot": true},
		"@Redfish.Settings": {"SettingsObject": {"@odata.id": "/redfish/v1/Systems/1/Bios/Settings"}, "SupportedApplyTimes": ["OnReset"]},
		"Actions": {"#Bios.ResetBios": {"target": "/redfish/v1/Systems/1/Bios/reset"}}}`,
	"GET /redfish/v1/Systems/1/Bios/Settings": `{"Id": "Settings", "Attributes": {"BootTimeout": 7}}`,
	"GET /redfish/v1/Registries":              `{"Members": [{"@odata.id": "/redfish/v1/Registries/1"}]}`,
	"GET /redfish/v1/Registries/1": `{"Id": "1", "Registry": "BiosAttributeRegistry.1",
		"Location": [{"Language": "en", "Uri": "/redfish/v1/Registries/1/registry.json"}]}`,
	"GET /redfish/v1/Registries/1/registry.json": `{"Id": "BiosAttributeRegistry.1", "RegistryEntries": {"Attributes": [
		{"AttributeName": "BootTimeout", "Type": "Integer", "LowerBound": 0, "UpperBound": 300, "Value": [{"ValueName": "x"}]}]}}`,
	"GET /redfish/v1/Chassis/1":            `{"Id": "1", "NetworkAdapters": {"@odata.id": "/redfish/v1/Chassis/1/Adapters"}}`,
	"GET /redfish/v1/Chassis/1/Adapters":   `{"Members": [{"@odata.id": "/redfish/v1/Chassis/1/Adapters/1"}]}`,
	"GET /redfish/v1/Chassis/1/Adapters/1": `{"Id": "1", "SerialNumber": "s", "Controllers": [{"FirmwarePackageVersion": "22"}]}`,
	"GET /redfish/v1/Systems/1/SecureBoot": `{"SecureBootEnable": false, "SecureBootMode": "UserMode"}`,
	"GET /redfish/v1/Drives/1": `{"Id": "1", "CapacityBytes": 480103981056, "MediaType": "SSD", ` +
		`"Protocol": "SATA", "Status": {"State": "Enabled"}}`,
	"GET /redfish/v1/Systems/1/Storage/1/Volumes": `{"Members": []}`,
	"GET /redfish/v1/Systems/1/NICs":              `{"Members": [{"@odata.id": "/redfish/v1/Systems/1/NICs/1"}]}`,
	"GET /redfish/v1/Systems/1/NICs/1": `{"Id": "1", "MACAddress": "52:54:00:00:00:01", "SpeedMbps": 25000, ` +
		`"Status": {"State": "Enabled"}}`,
}

func (f *fuzzedBMC) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requests++
	asked, _ := io.ReadAll(r.Body) // a part of it suffices
	status := [...]int{200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 404, 500, 401, 307, 204}[f.bender.next(16)]
	resource, known := resources[r.Method+" "+r.URL.Path]
	if r.Method != http.MethodGet && !strings.Contains(r.URL.Path, "Sessions") {
		f.changes = append(f.changes, r.Method+" "+r.URL.Path+" "+string(asked))
	}
	switch {
	case r.Method == http.MethodDelete:
		f.open--
		status = http.StatusNoContent
	case r.Method == http.MethodPost && strings.Contains(string(asked), "UserName"):
		f.logins++
		if status < 300 {
			f.open++
			w.Header().Set("X-Auth-Token", "token")
			w.Header().Set("Location", [...]string{
				"/redfish/v1/SessionService/Sessions/1", "/redfish/v1/SessionService/Sessions/%31", "", ":%zz", "1",
				"https://other.invalid/redfish/v1/SessionService/Sessions/1",
			}[f.bender.next(6)])
		}
		resource, known = resources["POST /redfish/v1/SessionService/Sessions"], true
	case !known:
		resource = resources["GET /redfish/v1/Systems/2"]
	}
	if status == http.StatusTemporaryRedirect {
		link, _ := oddities[f.bender.next(len(oddities))].(string)
		w.Header().Set("Location", link)
	}
	var value any
	_ = json.Unmarshal([]byte(resource), &value) // it is well-formed
	body, _ := json.Marshal(f.bender.bend(value))
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if status != http.StatusNoContent {
		_, _ = w.Write(body)
	}
}

// TLS handshakes are the most expensive operation for a BMC's processor. The log-in
// opens a new connection, and all later requests use that.
func TestAVerificationTakesTwoConnections(t *testing.T) {
	front := httptest.NewUnstartedServer(&fuzzedBMC{})
	var connections atomic.Int64
	front.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	front.StartTLS()
	defer front.Close()
	config := configOfServer(front)
	config.SystemID = "1"
	_, err := newVerifier(t, config).Verify(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 2, connections.Load())
}

// configOfServer returns how to reach a server of package httptest.
func configOfServer(server *httptest.Server) bmc.Config {
	sum := sha256.Sum256(server.Certificate().Raw)
	address := server.Listener.Addr().(*net.TCPAddr)
	return bmc.Config{
		Host: address.IP.String(), RedfishPort: address.Port, Protocol: "redfish", Fingerprint: hex.EncodeToString(sum[:]),
		User: user, Password: secret.New(password), Timeout: time.Hour,
	}
}

// FuzzVerifier verifies against a BMC with mutated answers: changed types, multiplied
// members, wrong links. Whatever the BMC answers, a verification or a request for power
// or a boot device ends in time, within its limits, with at most one log-in.
func FuzzVerifier(f *testing.F) {
	server := &fuzzedBMC{}
	front := httptest.NewUnstartedServer(server)
	front.Config.ErrorLog = log.New(io.Discard, "", 0)
	front.StartTLS()
	f.Cleanup(front.Close)
	config := configOfServer(front)
	for i := range oddities {
		f.Add(uint8(i), []byte{0, 1, byte(i)})
		f.Add(uint8(i), []byte{0, 0, 0, 0, 0, 1, byte(i), 0, 0, 1, byte(i)})
		f.Add(0xc0|uint8(i), []byte{0, 0, 0, 0, 0, 1, byte(i), 0, 0, 1, byte(i)})
		f.Add(0x40|uint8(i), append(make([]byte, 40+7*i), 1, byte(i), 0, 0, 1, byte(i)))
		f.Add(0x60|uint8(i), append(make([]byte, 60+9*i), 1, byte(i), 0, 0, 1, byte(i)))
	}
	f.Fuzz(func(t *testing.T, how uint8, script []byte) {
		server.mu.Lock()
		server.bender, server.requests, server.logins, server.open, server.changes = bender{script}, 0, 0, 0, nil
		server.mu.Unlock()
		config := config
		config.CheckManagement = how&1 == 0
		config.Auth = []string{"auto", "session", "basic"}[how>>1%3]
		switch how >> 3 % 3 {
		case 0:
			config.SystemID = "1"
		case 1:
			config.SystemName = "node"
		}
		if err := askFuzzed(t, config, how); err != nil {
			require.NotErrorIs(t, err, verify.Timeout)
			requireNoSecret(t, config, err)
			require.NotContains(t, err.Error(), "panicked")
		}
		server.mu.Lock()
		defer server.mu.Unlock()
		limit := 64
		if how>>6 == 1 {
			limit = 1000
		}
		require.LessOrEqual(t, server.requests, limit+4)
		if how>>6 != 1 {
			require.LessOrEqual(t, server.logins, 1)
		}
	})
}

// askFuzzed verifies, inspects, reads firmware versions, reads, sets or resets BIOS settings, subscribes to
// events, reads or changes virtual media and how the machine boots, or sets the power or the boot device.
func askFuzzed(t *testing.T, config bmc.Config, how uint8) error {
	t.Helper()
	ctx := context.Background()
	d := newDriver(t, 0, map[string]bmc.Config{"node": config})
	var err error
	switch how >> 6 {
	case 1:
		switch how % 8 {
		case 0:
			_, err = d.Inspect(ctx, "node")
		case 1:
			_, err = d.Firmware(ctx, "node")
		case 2:
			_, err = d.BIOS(ctx, "node")
		case 3:
			_, err = d.SetBIOS(ctx, "node", map[string]any{"BootTimeout": "30"})
		case 4:
			err = d.ResetBIOS(ctx, "node")
		case 5:
			_, subscribed := d.Subscribe(ctx, "node", bmc.Subscription{
				Destination: "https://h/events", Protocol: "Redfish", EventTypes: []string{"Alert"}, Headers: []map[string]string{{"X-Key": password}},
			})
			_, listed := d.Subscriptions(ctx, "node")
			_, read := d.Subscription(ctx, "node", "1")
			err = errors.Join(subscribed, listed, read, d.Unsubscribe(ctx, "node", "1"))
		case 6:
			_, _, made := d.Vendor(ctx, "node")
			_, healthy := d.Health(ctx, "node")
			_, secure := d.SecureBoot(ctx, "node")
			_, media := d.VirtualMedia(ctx, "node")
			_, mode := d.BootMode(ctx, "node")
			_, _, device := d.BootDevice(ctx, "node")
			err = errors.Join(made, healthy, secure, media, mode, device)
		default:
			err = errors.Join(
				d.InsertMedia(ctx, "node", "cdrom", "http://h/y"), d.EjectMedia(ctx, "node"), d.SetBootMode(ctx, "node", "bios"),
				d.SetSecureBoot(ctx, "node", true), d.InjectNMI(ctx, "node"),
			)
		}
	case 2:
		err = d.SetPower(ctx, "node", states.PowerOff)
	case 3:
		err = d.SetBootDevice(ctx, "node", "pxe", true)
	default:
		_, err = newVerifier(t, config).Verify(ctx)
	}
	return err
}
