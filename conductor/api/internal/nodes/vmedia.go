// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"net/url"
	"slices"
	"strings"

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
func attachVmedia(r *rest.Request) (rest.Answer, error) {
	body, err := r.Decode(rest.MaxBody)
	if err != nil {
		return rest.Answer{}, err
	}
	object, _ := body.(map[string]any)
	if err := r.CheckQuery(object); err != nil {
		return rest.Answer{}, err
	}
	if err := vmediaSchema(r.Series).Validate("vmedia", body); err != nil {
		return rest.Answer{}, err
	}
	media := body.(map[string]any)
	image := media["image_url"].(string)
	source, _ := media["image_download_source"].(string)
	location, err := url.Parse(image)
	if err != nil || !slices.Contains(vmediaSchemes, location.Scheme) {
		scheme := ""
		if err == nil {
			scheme = location.Scheme
		}
		return rest.Answer{}, fault.Invalid("Unsupported or missing URL scheme: %s", fault.Show(scheme))
	}
	n, err := r.Node(r.Param(0))
	if err != nil {
		return rest.Answer{}, err
	}
	return rest.NoContent, r.Conductor.Management(n.UUID).AttachVirtualMedia(r.Context(), media["device_type"].(string), image, source)
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

// detachVmedia answers DELETE /v1/nodes/NODE/vmedia, as attachVmedia does.
func detachVmedia(r *rest.Request) (rest.Answer, error) {
	a := r.QueryArgs("device_types")
	devices := a.List("device_types")
	wrong := slices.DeleteFunc(slices.Clone(devices), func(device string) bool { return slices.Contains(vmediaDevices, device) })
	if len(wrong) > 0 {
		a.Fail("Invalid device type(s) %s (valid are %s)", fault.Show(strings.Join(wrong, ", ")), strings.Join(vmediaDevices, ", "))
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
		return rest.Answer{}, fault.NotFound("The resource could not be found.")
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
