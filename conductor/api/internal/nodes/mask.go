// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"maps"

	"github.com/ironstate/ironstate/internal/masked"
)

// maskInstance masks the secrets, the config drive and the URL of the image: a config drive may
// contain secrets, and the URL may grant access to the image.
//
// Source: node_sanitize in ironic/api/controllers/v1/node.py.
func maskInstance(m map[string]any) map[string]any {
	shown := masked.Object(m)
	for _, key := range []string{"configdrive", "image_url"} {
		if v := m[key]; v != nil && v != "" {
			shown = maps.Clone(shown)
			shown[key] = masked.Secret
		}
	}
	return shown
}
