// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
	"github.com/ironstate/ironstate/states"
)

// The headers for the version, in canonical form.
const (
	versionHeader  = "X-Openstack-Ironic-Api-Version"
	minimumHeader  = "X-Openstack-Ironic-Api-Minimum-Version"
	maximumHeader  = "X-Openstack-Ironic-Api-Maximum-Version"
	standardHeader = "Openstack-Api-Version" // "baremetal 1.87", since Dalmatian
)

var oldest = []string{since.First.String()}

// negotiate determines the version of a request and writes the version headers of the
// response.
//
// Source: ironic/api/controllers/base.py and v1/__init__.py.
func (r *Request) negotiate(header http.Header) error {
	asked := r.Header.Values(versionHeader)
	if r.Series >= states.Dalmatian {
		asked = lastVersion(asked)
		if standard := standardVersion(r.Header.Values(standardHeader)); standard != "" {
			asked = []string{standard}
		}
	}
	version, err := r.parseVersion(asked)
	if err != nil && !errors.Is(err, errOutOfRange) {
		return err
	}
	header[minimumHeader] = oldest
	header[maximumHeader] = []string{r.Highest.String()}
	if err != nil {
		return err
	}
	r.Version = version
	header[versionHeader] = []string{version.String()}
	return nil
}

// SetHeaders sets the headers of the response to a request that ended with err, nil for none. A fault of
// the routing has no request ID before [since.RequestID], and no versions unless the version was out of their range.
//
// Source: ironic/api/hooks.py, and IronicRequestId in ironic/api/app.py.
func (r *Request) SetHeaders(header http.Header, err error) {
	id := []string{"req-" + uuid.NewString()}
	if r.Highest >= since.RequestID {
		header["Openstack-Request-Id"], header["X-Openstack-Request-Id"] = id, id
	}
	if isRouting(err) {
		delete(header, versionHeader)
		if !errors.Is(err, errOutOfRange) {
			delete(header, minimumHeader)
			delete(header, maximumHeader)
		}
		return
	}
	header["Openstack-Request-Id"] = id
}

// parseVersion returns the version in a header; without one it is the lowest.
func (s *Service) parseVersion(header []string) (states.APIVersion, error) {
	if len(header) == 0 {
		return since.First, nil
	}
	text := strings.TrimSpace(header[0])
	if strings.EqualFold(text, "latest") {
		return s.Highest, nil
	}
	majorText, minorText, _ := strings.Cut(text, ".")
	major, isMajor := parseInteger(majorText)
	minor, isMinor := parseInteger(minorText)
	switch {
	case !isMajor || !isMinor:
		return 0, &fault.Fault{Status: http.StatusNotAcceptable, Bare: true, Text: "Invalid value for X-OpenStack-Ironic-API-Version header"}
	case major != "1":
		return 0, s.outOfRange("Mutually exclusive versions requested. Version %s.%s requested but not supported by this service.", major, minor)
	}
	version, err := strconv.ParseUint(minor, 10, 16)
	if err != nil || states.APIVersion(version) < since.First || states.APIVersion(version) > s.Highest {
		return 0, s.outOfRange("Version %s.%s was requested but the minor version is not supported by this service.", major, minor)
	}
	return states.APIVersion(version), nil
}

// parseInteger returns an integer of any size in its shortest form.
func parseInteger(text string) (string, bool) {
	if len(text) > fault.MaxShown {
		return "", false
	}
	n, ok := new(big.Int).SetString(strings.TrimSpace(text), 10)
	if !ok {
		return "", false
	}
	return n.String(), true
}

// errOutOfRange is matched by the fault of a version that the series does not have.
var errOutOfRange = errors.New("version out of range")

func (s *Service) outOfRange(format, major, minor string) error {
	return &fault.Fault{
		Status: http.StatusNotAcceptable, Bare: true, Err: errOutOfRange,
		Text: fmt.Sprintf(format, fault.Show(major), fault.Show(minor)) + fmt.Sprintf(" The supported version range is: [1.1, %v].", s.Highest),
	}
}

// lastVersion returns the last of several versions in a header, and none for an empty one.
//
// Source: check_legacy_headers in microversion_parse.
func lastVersion(headers []string) []string {
	if len(headers) == 0 {
		return nil
	}
	parts := strings.Split(headers[0], ",")
	if last := strings.TrimSpace(parts[len(parts)-1]); last != "" {
		return []string{last}
	}
	return nil
}

// standardVersion returns the version for the service "baremetal" in the headers.
func standardVersion(headers []string) string {
	version := ""
	for _, header := range headers {
		for part := range strings.SplitSeq(header, ",") {
			if service, v, ok := strings.Cut(strings.TrimSpace(part), " "); ok && strings.EqualFold(service, "baremetal") {
				version = v
			}
		}
	}
	return version
}
