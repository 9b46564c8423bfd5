package api

import (
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"strconv"
	"strings"

	"github.com/ironstate/ironstate/states"
)

// The headers for the version, in canonical form.
const (
	versionHeader  = "X-Openstack-Ironic-Api-Version"
	minimumHeader  = "X-Openstack-Ironic-Api-Minimum-Version"
	maximumHeader  = "X-Openstack-Ironic-Api-Maximum-Version"
	standardHeader = "Openstack-Api-Version" // "baremetal 1.87", since Dalmatian
)

var oldest = []string{"1.1"}

// negotiate determines the version of a request and writes the version headers of the
// response.
//
// Source: ironic/api/controllers/base.py and v1/__init__.py.
func (h *handler) negotiate(w http.ResponseWriter, r *request) error {
	asked := r.Header.Values(versionHeader)
	if h.series >= states.Dalmatian {
		if standard := standardVersion(r.Header.Values(standardHeader)); standard != "" {
			asked = []string{standard}
		}
	}
	version, err := h.parseVersion(asked)
	if err != nil && !errors.Is(err, errOutOfRange) {
		return err
	}
	header := w.Header()
	header[minimumHeader] = oldest
	header[maximumHeader] = []string{h.highest.String()}
	if err != nil {
		return err
	}
	r.version = version
	header[versionHeader] = []string{version.String()}
	return nil
}

// parseVersion returns the version in a header; without one it is the lowest.
func (h *handler) parseVersion(header []string) (states.APIVersion, error) {
	if len(header) == 0 {
		return 1, nil
	}
	text := strings.TrimSpace(header[0])
	if strings.EqualFold(text, "latest") {
		return h.highest, nil
	}
	majorText, minorText, _ := strings.Cut(text, ".")
	major, isMajor := parseInteger(majorText)
	minor, isMinor := parseInteger(minorText)
	switch {
	case !isMajor || !isMinor:
		return 0, &fault{status: http.StatusNotAcceptable, bare: true, text: "Invalid value for X-OpenStack-Ironic-API-Version header"}
	case major != "1":
		return 0, h.outOfRange("Mutually exclusive versions requested. Version %s.%s requested but not supported by this service.", major, minor)
	}
	version, err := strconv.ParseUint(minor, 10, 16)
	if err != nil || version < 1 || states.APIVersion(version) > h.highest {
		return 0, h.outOfRange("Version %s.%s was requested but the minor version is not supported by this service.", major, minor)
	}
	return states.APIVersion(version), nil
}

// parseInteger returns an integer of any size in its shortest form.
func parseInteger(text string) (string, bool) {
	if len(text) > maxShown {
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

func (h *handler) outOfRange(format, major, minor string) error {
	return &fault{
		status: http.StatusNotAcceptable, bare: true, err: errOutOfRange,
		text: fmt.Sprintf(format, show(major), show(minor)) + fmt.Sprintf(" The supported version range is: [1.1, %v].", h.highest),
	}
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

// root answers GET /.
func (h *handler) root(r *request) (answer, error) {
	w := newWriter(1024)
	w.open()
	w.key("name").text("OpenStack Ironic API")
	w.key("description").text("Ironic is an OpenStack project which enables the provision and management of baremetal machines.")
	w.key("default_version")
	h.versionDocument(w, r)
	w.key("versions").openList()
	h.versionDocument(w, r)
	w.closeList()
	w.close()
	return answer{status: http.StatusOK, body: w.b}, nil
}

func (h *handler) versionDocument(w *writer, r *request) {
	w.open()
	w.key("id").text("v1")
	w.key("links").openList()
	w.link("self", r.base(), "/v1/")
	w.closeList()
	w.key("status").text("CURRENT")
	w.key("min_version").text("1.1")
	w.key("version").text(h.highest.String())
	w.close()
}

// v1 answers GET /v1.
func (h *handler) v1(r *request) (answer, error) {
	if r.Method != http.MethodGet {
		return answer{}, &fault{status: http.StatusMethodNotAllowed, text: "The server could not comply with the request since it is either malformed or otherwise incorrect."}
	}
	w := newWriter(4096)
	w.open()
	w.key("id").text("v1")
	w.key("links").openList()
	w.link("self", r.base(), "/v1/")
	w.open()
	w.key("href").text("https://docs.openstack.org//ironic/latest/contributor//webapi.html")
	w.key("rel").text("describedby")
	w.key("type").text("text/html")
	w.close()
	w.closeList()
	w.key("media_types").open()
	w.key("base").text("application/json")
	w.key("type").text("application/vnd.openstack.ironic.v1+json")
	w.close()
	for _, name := range []string{"chassis", "nodes", "ports", "drivers"} {
		w.key(name).links(r.base(), name+"/")
	}
	w.key("version")
	h.versionDocument(w, r)
	for _, c := range []struct {
		name  string
		since states.APIVersion
	}{
		{"portgroups", 23}, {"volume", 32}, {"lookup", 22}, {"heartbeat", 22}, {"conductors", 49}, {"allocations", 52},
		{"events", 54}, {"deploy_templates", 55}, {"shards", 82}, {"runbooks", 92},
	} {
		if r.version >= c.since {
			w.key(c.name).links(r.base(), c.name+"/")
		}
	}
	w.close()
	return answer{status: http.StatusOK, body: w.b}, nil
}
