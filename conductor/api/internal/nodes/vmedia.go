// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"net/url"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/schema"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
	"github.com/ironstate/ironstate/conductor/api/internal/wire"
	"github.com/ironstate/ironstate/states"
)

// The devices of virtual media, and the URL schemes of their images.
//
// Source: ironic/common/boot_devices.py and ironic/common/image_publisher.py.
var (
	vmediaDevices = []string{"disk", "cdrom", "floppy"}
	vmediaSchemes = []string{"http", "https", "nfs", "cifs"}
)

// attachVmedia answers POST /v1/nodes/NODE/vmedia. A failure is the node's last error.
var attachVmedia = checks{bodyDecodes, vmediaValid, imageURLSupported, nodeExists}.Then(newRequest, func(q *request) (rest.Answer, error) {
	device, image := q.body["device_type"].(string), q.body["image_url"].(string)
	source, _ := q.body["image_download_source"].(string)
	return rest.NoContent, q.Conductor.Management(q.node.UUID).AttachVirtualMedia(q.Context(), device, image, source)
})

// vmediaValid refuses a body that violates the schema.
func vmediaValid(q *request) error { return vmediaSchema(q.Series).Validate("vmedia", q.sent) }

// imageURLSupported refuses an image whose URL has an unknown scheme.
func imageURLSupported(q *request) error {
	scheme := ""
	if location, err := url.Parse(q.body["image_url"].(string)); err == nil {
		scheme = location.Scheme
	}
	if !slices.Contains(vmediaSchemes, scheme) {
		return fault.Invalid("Unsupported or missing URL scheme: %s", fault.Show(scheme))
	}
	return nil
}

// vmediaSchema returns the schema of a virtual medium.
//
// Source: VMEDIA_ATTACH_VALIDATOR in ironic/api/controllers/v1/node.py.
func vmediaSchema(series states.Series) *schema.Schema {
	return &schema.Schema{
		Types: []string{"object"}, Closed: true, Required: []string{"device_type", "image_url"}, Recent: series >= states.Gazpacho,
		Properties: []schema.Property{
			{Name: "device_type", Schema: &schema.Schema{Types: schema.TextType, Enum: vmediaDevices}},
			{Name: "image_url", Schema: schema.Text},
			{Name: "image_download_source", Schema: &schema.Schema{Types: schema.TextType, Enum: []string{"http", "local", "swift"}}},
		},
	}
}

var deviceTypes = list("device_types")

// detachVmedia answers DELETE /v1/nodes/NODE/vmedia, as attachVmedia does.
var detachVmedia = checks{arguments(deviceTypes), devicesKnown, nodeExists}.Then(newRequest, func(q *request) (rest.Answer, error) {
	return rest.NoContent, q.Conductor.Management(q.node.UUID).DetachVirtualMedia(q.Context(), deviceTypes.of(q))
})

// devicesKnown refuses unknown devices.
func devicesKnown(q *request) error {
	wrong := slices.DeleteFunc(deviceTypes.of(q), func(device string) bool { return slices.Contains(vmediaDevices, device) })
	if len(wrong) > 0 {
		return fault.Invalid("Invalid device type(s) %s (valid are %s)", fault.Show(strings.Join(wrong, ", ")), strings.Join(vmediaDevices, ", "))
	}
	return nil
}

// showVmedia answers GET /v1/nodes/NODE/vmedia.
var showVmedia = checks{
	from(since.VirtualMediaShown, fault.NotFound("The resource could not be found.")), arguments(), nodeExists,
}.Then(newRequest, func(q *request) (rest.Answer, error) {
	media, err := q.Conductor.Management(q.node.UUID).VirtualMedia(q.Context())
	if err != nil {
		return rest.Answer{}, hardwareFault(err)
	}
	return rest.Value(func(w *wire.Writer) {
		wire.List(w, media, func(m conductor.VirtualMedia) {
			w.Open()
			w.Key("image").TextOrNull(m.Image)
			w.Key("inserted").Boolean(m.Inserted)
			w.Key("media_types").Texts(m.MediaTypes)
			w.Close()
		})
	}), nil
})
