package api

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/conductor/api/internal/since"
)

// The devices of virtual media, and the URL schemes of their images.
//
// Source: ironic/common/boot_devices.py and ironic/common/image_publisher.py.
var (
	vmediaDevices = []string{"cdrom", "disk", "floppy"}
	vmediaSchemes = []string{"http", "https", "nfs", "cifs"}
)

// attachVmedia answers POST /v1/nodes/NODE/vmedia. The request is accepted and then sets the
// node's last error: no hardware type supports virtual media.
func attachVmedia(r *request) (answer, error) {
	a := r.bodyArgs(maxBody, "device_type", "image_url", "image_download_source")
	device, image := a.need("device_type").text("device_type"), a.need("image_url").text("image_url")
	a.text("image_download_source")
	if a.err == nil && !slices.Contains(vmediaDevices, device) {
		a.err = invalid("Schema error for vmedia: %s is not one of %v", show(device), vmediaDevices)
	}
	if location, err := url.Parse(image); a.err == nil && (err != nil || !slices.Contains(vmediaSchemes, location.Scheme)) {
		a.err = invalid("Unsupported or missing URL scheme: want one of %s", strings.Join(vmediaSchemes, ", "))
	}
	return r.vmedia(a, "Could not attach device "+device)
}

// detachVmedia answers DELETE /v1/nodes/NODE/vmedia, as attachVmedia does.
func detachVmedia(r *request) (answer, error) {
	a := r.queryArgs("device_types")
	devices := a.list("device_types")
	for _, device := range devices {
		if a.err == nil && !slices.Contains(vmediaDevices, device) {
			a.err = invalid("Invalid device type(s) %s (valid are %s)", show(device), strings.Join(vmediaDevices, ", "))
		}
	}
	if len(devices) == 0 {
		devices = vmediaDevices
	}
	return r.vmedia(a, "Could not detach device(s) "+strings.Join(devices, ", "))
}

// vmedia accepts a change of virtual media and sets the node's last error to failure.
func (r *request) vmedia(a *args, failure string) (answer, error) {
	if a.err != nil {
		return answer{}, a.err
	}
	if _, err := r.node(r.param(0)); err != nil {
		return answer{}, err
	}
	err := r.updateNode(func(n *node) error {
		n.LastError = failure + " of node " + n.UUID + ": " + unsupported(n, "virtual media")
		return nil
	})
	return answer{status: http.StatusNoContent}, err
}

// showVmedia answers GET /v1/nodes/NODE/vmedia.
func showVmedia(r *request) (answer, error) {
	if r.version < since.VirtualMediaShown {
		return answer{}, notFound("")
	}
	if a := r.queryArgs(); a.err != nil {
		return answer{}, a.err
	}
	n, err := r.node(r.param(0))
	if err != nil {
		return answer{}, err
	}
	return answer{}, invalid("%s", unsupported(n, "get_virtual_media"))
}
