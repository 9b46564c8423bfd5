// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor/api"
	"github.com/ironstate/ironstate/states"
)

func TestVirtualMediaThatAreNoneAreRefused(t *testing.T) {
	t.Parallel()
	s, old := start(t, states.Gazpacho, api.Config{}), start(t, states.Flamingo, api.Config{})
	for body, want := range map[string][2]string{
		`{"device_type": 1, "image_url": 2}`: {
			"Schema error for vmedia: 2 is not of type 'string'", "Schema error for vmedia: 1 is not of type 'string'",
		},
		`{"device_type": "cdrom", "image_url": "file:///etc/passwd"}`: {"Unsupported or missing URL scheme: file",
			"Unsupported or missing URL scheme: file"},
		`{"device_type": "cdrom", "image_url": "http://%zz"}`: {"Unsupported or missing URL scheme: ", "Unsupported or missing URL scheme: "},
	} {
		for i, s := range []*server{s, old} {
			require.Equal(t, want[i], s.do("POST", "/v1/nodes/n/vmedia", "latest", body).fault(), body)
		}
	}
}

func TestVirtualMediaIsAcceptedAndEndsInALastError(t *testing.T) {
	s := start(t, states.Latest(), api.Config{})
	s.create(`{"driver": "fake-hardware", "name": "n"}`)
	const path = "/v1/nodes/n/vmedia"
	attach := `{"device_type": "cdrom", "image_url": "http://127.0.0.1/boot.iso"}`
	for _, c := range []struct {
		method, path, version, body string
		want                        int
		lastError                   any
	}{
		{"POST", path, "1.89", attach, http.StatusNoContent, "Could not attach device cdrom"},
		{"DELETE", path + "?device_types=cdrom,disk", "1.89", "", http.StatusNoContent, "Could not detach device(s) ['cdrom', 'disk']"},
		{"DELETE", path, "1.89", "", http.StatusNoContent, "Could not detach device(s) None from node "},
		{"POST", path, "1.89", `{"device_type": "tape", "image_url": "http://127.0.0.1/boot.iso"}`, http.StatusBadRequest, nil},
		{"POST", path, "1.89", `{"device_type": "cdrom", "image_url": "file:///etc/passwd"}`, http.StatusBadRequest, nil},
		{"POST", path, "1.89", `{"device_type": "cdrom"}`, http.StatusBadRequest, nil},
		{"POST", path, "1.89", `{"image_url": 1, "device_type": "cdrom"}`, http.StatusBadRequest, nil},
		{"POST", path, "1.89", `{"image_url": "http://127.0.0.1/boot.iso", "device_type": "cdrom", "image_download_source": "x"}`,
			http.StatusBadRequest, nil},
		{"POST", path + "?device_type=cdrom", "1.89", attach, http.StatusNoContent, "Could not attach device cdrom"},
		{"POST", path + "?foo=1", "1.89", attach, http.StatusBadRequest, nil},
		{"DELETE", path + "?device_types=tape", "1.89", "", http.StatusBadRequest, nil},
		{"DELETE", path, "1.89", `{"device_types": ["floppy", "disk"]}`, http.StatusNoContent, "Could not detach device(s) ['floppy', 'disk']"},
		{"DELETE", path, "1.89", `{"device_types": "Floppy"}`, http.StatusNoContent, "Could not detach device(s) ['floppy'] from node "},
		{"DELETE", path, "1.89", `{"device_types": []}`, http.StatusNoContent, "Could not detach device(s) [] from node "},
		{"DELETE", path, "1.89", `{"device_types": null}`, http.StatusNoContent, "Could not detach device(s) None from node "},
		{"DELETE", path, "1.89", `{"device_types": ["nonsense"]}`, http.StatusBadRequest, nil},
		{"DELETE", path, "1.89", `{"device_types": {"disk": 1}}`, http.StatusBadRequest, nil},
		{"DELETE", path + "/disk", "1.89", `{"device_types": "disk"}`, http.StatusBadRequest, nil},
		{"GET", path, "1.92", "", http.StatusNotFound, nil},
		{"GET", path, "1.93", "", http.StatusBadRequest, nil},
		{"POST", "/v1/nodes/none/vmedia", "1.89", attach, http.StatusNotFound, nil},
	} {
		require.Equal(t, c.want, s.do(c.method, c.path, c.version, c.body).status, "%s %s %s", c.method, c.path, c.body)
		if c.lastError != nil {
			require.Contains(t, s.do("GET", "/v1/nodes/n", "latest", "").json()["last_error"], c.lastError)
		}
	}
}
