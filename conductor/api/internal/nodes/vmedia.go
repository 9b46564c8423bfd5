package nodes

import (
	"net/url"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
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
func attachVmedia(r *rest.Request) (rest.Answer, error) {
	a := r.BodyArgs(rest.MaxBody, "device_type", "image_url", "image_download_source")
	device, image := a.Need("device_type").Text("device_type"), a.Need("image_url").Text("image_url")
	a.Text("image_download_source")
	if a.Err == nil && !slices.Contains(vmediaDevices, device) {
		a.Err = fault.Invalid("Schema error for vmedia: %s is not one of %v", fault.Show(device), vmediaDevices)
	}
	if location, err := url.Parse(image); a.Err == nil && (err != nil || !slices.Contains(vmediaSchemes, location.Scheme)) {
		a.Err = fault.Invalid("Unsupported or missing URL scheme: want one of %s", strings.Join(vmediaSchemes, ", "))
	}
	return changeVmedia(r, a, "Could not attach device "+device)
}

// detachVmedia answers DELETE /v1/nodes/NODE/vmedia, as attachVmedia does.
func detachVmedia(r *rest.Request) (rest.Answer, error) {
	a := r.QueryArgs("device_types")
	devices := a.List("device_types")
	for _, device := range devices {
		if a.Err == nil && !slices.Contains(vmediaDevices, device) {
			a.Err = fault.Invalid("Invalid device type(s) %s (valid are %s)", fault.Show(device), strings.Join(vmediaDevices, ", "))
		}
	}
	if len(devices) == 0 {
		devices = vmediaDevices
	}
	return changeVmedia(r, a, "Could not detach device(s) "+strings.Join(devices, ", "))
}

// changeVmedia accepts a change of virtual media and sets the node's last error to failure.
func changeVmedia(r *rest.Request, a *rest.Args, failure string) (rest.Answer, error) {
	if _, err := r.NodeOf(a); err != nil {
		return rest.Answer{}, err
	}
	err := update(r, func(n *node) error {
		n.LastError = failure + " of node " + n.UUID + ": " + unsupported(n, "virtual media")
		return nil
	})
	return rest.NoContent, err
}

// showVmedia answers GET /v1/nodes/NODE/vmedia.
func showVmedia(r *rest.Request) (rest.Answer, error) {
	if r.Version < since.VirtualMediaShown {
		return rest.Answer{}, fault.NotFound("")
	}
	n, err := r.NodeOf(r.QueryArgs())
	if err != nil {
		return rest.Answer{}, err
	}
	return rest.Answer{}, fault.Invalid("%s", unsupported(n, "get_virtual_media"))
}
