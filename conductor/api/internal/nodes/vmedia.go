// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"net/url"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
	"github.com/ironstate/ironstate/conductor/api/internal/wire"
)

// The devices of virtual media, and the URL schemes of their images.
//
// Source: ironic/common/boot_devices.py and ironic/common/image_publisher.py.
var (
	vmediaDevices = []string{"cdrom", "disk", "floppy"}
	vmediaSchemes = []string{"http", "https", "nfs", "cifs"}
)

// attachVmedia answers POST /v1/nodes/NODE/vmedia. A failure is the node's last error.
func attachVmedia(r *rest.Request) (rest.Answer, error) {
	a := r.BodyArgs(rest.MaxBody, "device_type", "image_url", "image_download_source")
	device, image := a.Need("device_type").Text("device_type"), a.Need("image_url").Text("image_url")
	source := a.Text("image_download_source")
	if a.Err == nil && !slices.Contains(vmediaDevices, device) {
		a.Err = fault.Invalid("Schema error for vmedia: %s is not one of %v", fault.Show(device), vmediaDevices)
	}
	if location, err := url.Parse(image); a.Err == nil && (err != nil || !slices.Contains(vmediaSchemes, location.Scheme)) {
		a.Err = fault.Invalid("Unsupported or missing URL scheme: want one of %s", strings.Join(vmediaSchemes, ", "))
	}
	n, err := r.PathNode(a)
	if err != nil {
		return rest.Answer{}, err
	}
	return rest.NoContent, r.Conductor.Management(n.UUID).AttachVirtualMedia(r.Context(), device, image, source)
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
	n, err := r.PathNode(a)
	if err != nil {
		return rest.Answer{}, err
	}
	return rest.NoContent, r.Conductor.Management(n.UUID).DetachVirtualMedia(r.Context(), devices)
}

// showVmedia answers GET /v1/nodes/NODE/vmedia.
func showVmedia(r *rest.Request) (rest.Answer, error) {
	if r.Version < since.VirtualMediaShown {
		return rest.Answer{}, fault.NotFound("")
	}
	n, err := r.PathNode(r.QueryArgs())
	if err != nil {
		return rest.Answer{}, err
	}
	media, err := r.Conductor.Management(n.UUID).VirtualMedia(r.Context())
	if err != nil {
		return rest.Answer{}, hardwareFault(err)
	}
	return rest.Value(func(w *wire.Writer) {
		w.OpenList()
		for _, m := range media {
			w.Open()
			w.Key("image").TextOrNull(m.Image)
			w.Key("inserted").Boolean(m.Inserted)
			w.Key("media_types").Texts(m.MediaTypes)
			w.Close()
		}
		w.CloseList()
	}), nil
}
