// SPDX-License-Identifier: Apache-2.0

package configdrive_test

import (
	"compress/gzip"
	"encoding/base64"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor/internal/configdrive"
)

func TestTheFilesOfAConfigurationDrive(t *testing.T) {
	type object = map[string]any
	for name, test := range map[string]struct {
		node   string
		object object
		want   map[string]string // by their names in each version's folder
	}{
		"of an empty object": {"", object{}, map[string]string{"meta_data.json": `{"uuid":"1be26c0b"}`}},
		"of a node with a name": {"web", object{"meta_data": object{"hostname": "h"}}, map[string]string{
			"meta_data.json": `{"hostname":"h","name":"web","uuid":"1be26c0b"}`,
		}},
		"with other meta data": {
			"web", object{"meta_data": object{"name": "n", "uuid": "u"}},
			map[string]string{"meta_data.json": `{"name":"n","uuid":"u"}`},
		},
		"with everything": {
			"", object{"user_data": "#cloud-config", "network_data": object{"links": []any{}}, "vendor_data": object{"v": 1}},
			map[string]string{
				"meta_data.json": `{"uuid":"1be26c0b"}`, "network_data.json": `{"links":[]}`,
				"vendor_data2.json": `{"v":1}`, "user_data": "#cloud-config",
			},
		},
		"with user data that are an object": {"", object{"user_data": object{"a": 1}, "network_data": nil}, map[string]string{
			"meta_data.json": `{"uuid":"1be26c0b"}`, "user_data": `{"a":1}`,
		}},
		"with nothing but user data": {"", object{"user_data": "x", "network_data": "", "vendor_data": nil}, map[string]string{
			"meta_data.json": `{"uuid":"1be26c0b"}`, "user_data": "x",
		}},
	} {
		files, err := configdrive.Files("1be26c0b", test.node, test.object)
		require.NoError(t, err, name)
		got := map[string]string{}
		for path, content := range files {
			got[path] = string(content)
		}
		want := map[string]string{}
		for file, content := range test.want {
			want["openstack/latest/"+file], want["openstack/2012-08-10/"+file] = content, content
		}
		require.Equal(t, want, got, name)
	}
	_, err := configdrive.Files("", "", map[string]any{"user_data": func() {}})
	require.ErrorContains(t, err, "encode user_data of the configuration drive: ")
}

func TestAPackedDriveIsGzippedAndInBase64(t *testing.T) {
	for _, size := range []int{0, 1, 100_000} {
		image := strings.Repeat("x", size)
		unpacked, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(configdrive.Pack([]byte(image)))))
		require.NoError(t, err)
		got, err := io.ReadAll(unpacked)
		require.NoError(t, err)
		require.Equal(t, image, string(got))
	}
}
