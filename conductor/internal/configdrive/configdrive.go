// SPDX-License-Identifier: Apache-2.0

// Package configdrive lays out the configuration drive of an instance: a small file system that cloud-init reads at the
// first boot of an image.
package configdrive

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
)

// Files returns the files of a drive by their paths. The object is the one with which a client describes the drive. Its
// meta_data have the UUID and the name of the node, unless it says otherwise; the name is empty for none.
//
// Source: build_configdrive in ironic/conductor/utils.py, populate_directory in openstack/baremetal/configdrive.py.
func Files(uuid, name string, object map[string]any) (map[string][]byte, error) {
	meta := map[string]any{"uuid": uuid}
	if name != "" {
		meta["name"] = name
	}
	given, _ := object["meta_data"].(map[string]any)
	maps.Copy(meta, given)
	content := map[string]any{
		"meta_data.json":    meta,
		"network_data.json": object["network_data"],
		"vendor_data2.json": object["vendor_data"],
		"user_data":         object["user_data"],
	}
	maps.DeleteFunc(content, func(_ string, value any) bool { return value == nil || value == "" })
	files := map[string][]byte{}
	for name, value := range content {
		data, err := json.Marshal(value)
		if text, ok := value.(string); ok {
			data, err = []byte(text), nil
		}
		if err != nil {
			return nil, fmt.Errorf("encode %s of the configuration drive: %w", name, err)
		}
		for _, version := range []string{"2012-08-10", "latest"} {
			files["openstack/"+version+"/"+name] = data
		}
	}
	return files, nil
}

// Pack returns the image of a drive as the agent takes it: gzipped and in base64.
func Pack(image []byte) string {
	var packed bytes.Buffer
	encoder := base64.NewEncoder(base64.StdEncoding, &packed)
	writer := gzip.NewWriter(encoder)
	_, _ = writer.Write(image) // a bytes.Buffer takes everything
	_ = writer.Close()
	_ = encoder.Close()
	return packed.String()
}
