// SPDX-License-Identifier: Apache-2.0

package states

import (
	"fmt"
	"strconv"
	"strings"
)

// APIVersion is a version of Ironic's API, as clients name it in the header
// X-OpenStack-Ironic-API-Version. Its number is the minor one: APIVersion(81) is
// "1.81", the major number has always been 1. A later version is the greater
// number. The zero value is [NoAPIVersion]; APIVersion(1) is the oldest.
type APIVersion uint16

// NoAPIVersion is the absence of a version, "none" as text.
// Wherever this module takes a version, its absence means 1.1, as in Ironic.
const NoAPIVersion APIVersion = 0

// Versions at which the answers of this package change. Source:
// ironic/api/controllers/v1/versions.py.
const (
	minVersion      APIVersion = 1  // the oldest there is
	minAvailable    APIVersion = 2  // Available is shown by its name
	minEnroll       APIVersion = 11 // nodes are created in Enroll
	minInspectWait  APIVersion = 39 // InspectWait is shown by its name
	minAbortInspect APIVersion = 41
	minUnhold       APIVersion = 85
	minService      APIVersion = 87
	minAbortDeploy  APIVersion = 110
)

// ParseAPIVersion returns the version of a text such as "1.81". The empty text and
// "none" are NoAPIVersion. Any other text is an [*UnknownError], including "latest",
// for which there is [Series.MaxAPIVersion].
func ParseAPIVersion(text string) (APIVersion, error) {
	if text == "" {
		return NoAPIVersion, nil
	}
	minor, _ := strconv.ParseUint(strings.TrimPrefix(text, "1."), 10, 16)
	if v := APIVersion(minor); v.String() == text { // also refuses "1.081", "81" and "1.70000"
		return v, nil
	}
	return 0, &UnknownError{Kind: "API version", Word: text, Known: []string{"1.1 and up"}}
}

// Series returns the series whose API has the version: the oldest whose highest
// version is at least v, so that a release from the middle of a cycle counts as
// the cycle's end. For a version above every series' that is the latest series,
// and known is false: the server is newer than this module's tables. Without a
// version it is Kilo.
func (v APIVersion) Series() (s Series, known bool) {
	for s := range AllSeries() {
		if v <= s.MaxAPIVersion() {
			return s, true
		}
	}
	return Latest(), false
}

// InitialState returns the state in which an API request of this version creates
// a node: Enroll from 1.11 on, Available below.
func (v APIVersion) InitialState() State {
	if v < minEnroll {
		return Available
	}
	return Enroll
}

// Show returns the state that a client of this version is shown for a node in s:
// below 1.2 NoState (null) for Available, below 1.39 Inspecting for InspectWait,
// otherwise s.
func (v APIVersion) Show(s State) State {
	switch {
	case s == Available && v < minAvailable:
		return NoState
	case s == InspectWait && v < minInspectWait:
		return Inspecting
	default:
		return s
	}
}

// Created returns the state that a client is shown for a node that it creates, and a
// warning for the client's user, empty where there is no reason for one. Client is
// the version that the client was written for, server the server's highest; they
// speak the lower of the two.
//
// A client that knows Enroll (1.11) and a server that does not is the case to
// warn of: the node is free for use at once, with nothing verified. A client
// that does not know it gets an available node from any server, as it always
// did. Without a version (NoAPIVersion) a side counts as the oldest. Source: the
// specification enroll-node-state of ironic-specs.
func Created(client, server APIVersion) (shown State, warning string) {
	spoken := min(client, server)
	shown = spoken.Show(spoken.InitialState())
	if client >= minEnroll && server < minEnroll {
		warning = fmt.Sprintf("the server's API %v is older than %v: it creates nodes available for use at once, "+
			"not in enroll, and does not verify their credentials", server, minEnroll)
	}
	return shown, warning
}

// String returns the version as "1.81"; "none" for NoAPIVersion.
func (v APIVersion) String() string {
	if v == NoAPIVersion {
		return "none"
	}
	return "1." + strconv.Itoa(int(v))
}

// MarshalText returns String. It never fails.
func (v APIVersion) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText is [ParseAPIVersion]; v keeps its value on error.
func (v *APIVersion) UnmarshalText(text []byte) error {
	parsed, err := ParseAPIVersion(string(text))
	if err == nil {
		*v = parsed
	}
	return err
}
