// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify/bmc"
)

func TestAPortIsANumberFrom1To65535(t *testing.T) {
	for value, want := range map[any]int{nil: 0, "": 0, "1": 1, 65535: 65535, json.Number("623"): 623} {
		got, err := info{&conductor.Node{DriverInfo: map[string]any{"p": value}}}.port("p")
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, value := range []any{"0", "-1", "65536", "a", true} {
		_, err := info{&conductor.Node{DriverInfo: map[string]any{"p": value}}}.port("p")
		require.ErrorIs(t, err, conductor.Invalid)
	}
}

func TestTheArgumentsOfASubscription(t *testing.T) {
	type object = map[string]any
	with := func(more object) object {
		args := object{"Destination": "https://events.example/x"}
		maps.Copy(args, more)
		return args
	}
	plain := bmc.Subscription{Destination: "https://events.example/x", Protocol: "Redfish", EventTypes: []string{"Alert"}}
	got, err := subscriptionOf(with(nil))
	require.NoError(t, err)
	require.Equal(t, plain, got)
	got, err = subscriptionOf(with(object{
		"Context":     "c",
		"Protocol":    "p",
		"EventTypes":  []any{"StatusChange", "Alert"},
		"HttpHeaders": []any{object{"a": "b", "c": "d"}, object{"e": "f"}},
	}))
	require.NoError(t, err)
	require.Equal(t, bmc.Subscription{
		Destination: plain.Destination, Protocol: "p", Context: "c", EventTypes: []string{"StatusChange", "Alert"},
		Headers: []map[string]string{{"a": "b", "c": "d"}, {"e": "f"}},
	}, got)
	for text, all := range map[string][]object{
		"EventTypes": {{"EventTypes": "Alert"}, {"EventTypes": []any{7}}, {"EventTypes": []any{7, "Alert"}}, {"EventTypes": []any{"Alert", 7}}},
		"HttpHeaders": {
			{"HttpHeaders": "a"}, {"HttpHeaders": []any{"a"}}, {"HttpHeaders": []any{"a", object{"a": "b"}}},
			{"HttpHeaders": []any{object{"a": "b"}, 7}},
			{"HttpHeaders": []any{object{"a": 1}}}, {"HttpHeaders": []any{object{"a": 1}, object{"a": "b"}}},
			{"HttpHeaders": []any{object{"a": "b"}, object{"a": 1}}},
		},
		"Context": {{"Context": 1}}, "Protocol": {{"Protocol": nil}},
		"Destination": {{"Destination": nil}, {"Destination": 7}, {"Destination": ""}, {"Destination": "events.example"},
			{"Destination": "//events.example/x"}, {"Destination": "https:///x"}, {"Destination": ":%"}},
	} {
		for _, more := range all {
			_, err := subscriptionOf(with(more))
			require.ErrorIs(t, err, conductor.Invalid, "%v", more)
			require.ErrorContains(t, err, text+" ")
		}
	}
}

func TestRequiredInspectionPropertiesDependOnTheSeries(t *testing.T) {
	found := bmc.Inventory{Memory: bmc.Memory{PhysicalMB: 1}}
	for series, want := range map[states.Series][]string{
		states.Antelope: {"cpu_arch", "cpus", "memory_mb"}, states.Bobcat: {"cpu_arch", "memory_mb"}, states.Epoxy: {"cpu_arch", "memory_mb"},
		states.Flamingo: {"memory_mb"}, states.Hibiscus: {"memory_mb"},
	} {
		require.Equal(t, want, missingProperties(series, nil, found), "%v", series)
	}
}

func TestThePropertiesOfTheAgentAreDescribed(t *testing.T) {
	b, err := NewIPMI(Config{})
	require.NoError(t, err)
	properties := b.Describe().Properties
	for key, text := range agentTexts {
		require.Equal(t, text, properties[key])
	}
}

// A row of the table in doc.go is a line such as "power, management: ipmitool", and lines of keys below it.
func TestTheTableOfKeysIsWhatTheInterfacesDescribe(t *testing.T) {
	text, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	listed := map[string][]string{}
	for _, row := range regexp.MustCompile(`(?m)^//\t(\w.*): (.*)\n((?://\t\t.*\n)+)`).FindAllStringSubmatch(string(text), -1) {
		for _, kind := range strings.Split(row[1], ", ") {
			for _, name := range strings.Split(row[2], ", ") {
				listed[kind+" "+name] = strings.Fields(strings.ReplaceAll(row[3], "//", ""))
			}
		}
	}
	redfish, err := Redfish(Config{})
	require.NoError(t, err)
	ipmi, err := IPMI(Config{})
	require.NoError(t, err)
	described := map[string][]string{}
	for _, all := range []Interfaces{redfish, ipmi, BMCLib(Config{})} {
		all = all.withDefaults()
		for _, kind := range all.kinds(new(Chosen)) {
			for _, each := range kind.list() {
				if keys := slices.Collect(maps.Keys(each.Properties())); len(keys) > 0 {
					described[kind.Name()+" "+each.Name()] = keys
				}
			}
		}
	}
	require.ElementsMatch(t, slices.Collect(maps.Keys(described)), slices.Collect(maps.Keys(listed)))
	for by, keys := range described {
		require.ElementsMatch(t, keys, listed[by], by)
	}
}
