// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
)

// configDrive returns the configuration drive of the node's instance as the agent takes it: an image, gzipped and in
// base64, or its URL; nil for none. It builds the image of a drive that the client has described by an object.
//
// Source: get_configdrive_image in ironic/conductor/utils.py.
func (t *Task) configDrive(ctx context.Context) (any, error) {
	n := t.Node()
	object, ok := n.InstanceInfo["configdrive"].(map[string]any)
	if !ok {
		return n.InstanceInfo["configdrive"], nil
	}
	builder, ok := t.hardware.(ConfigDriveBuilder)
	if !ok {
		return nil, refuse(Unsupported, "Driver %s cannot build the configuration drive of node %s from an object. "+
			"It can write an image, gzipped and in base64, or its URL.", n.Driver, n.UUID)
	}
	files, err := configDriveFiles(n, object)
	if err != nil {
		return nil, err
	}
	image, err := builder.BuildConfigDrive(ctx, files)
	if err != nil {
		return nil, err
	}
	var packed bytes.Buffer
	encoder := base64.NewEncoder(base64.StdEncoding, &packed)
	writer := gzip.NewWriter(encoder)
	_, _ = writer.Write(image) // a bytes.Buffer takes everything
	_ = writer.Close()
	_ = encoder.Close()
	return packed.String(), nil
}

// configDriveFiles returns the files of a configuration drive by their paths.
//
// Source: build_configdrive in ironic/conductor/utils.py, populate_directory in openstack/baremetal/configdrive.py.
func configDriveFiles(n *Node, object map[string]any) (map[string][]byte, error) {
	meta := map[string]any{"uuid": n.UUID}
	if n.Name != "" {
		meta["name"] = n.Name
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
