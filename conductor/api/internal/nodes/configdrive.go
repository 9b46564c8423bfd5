// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"maps"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/schema"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
)

// configDriveValid refuses an invalid config drive.
//
// Source: check_allow_configdrive in ironic/api/controllers/v1/utils.py.
func configDriveValid(q *completion) error {
	if object, ok := q.configDrive.(map[string]any); q.configDrive == nil || q.configDrive == "" || ok && len(object) == 0 {
		return nil
	}
	takes := func(target string) bool {
		first := targets[target].configDrive
		return first != 0 && first <= q.Version
	}
	if !takes(q.target) {
		return fault.Invalid("Adding a config drive is only supported when setting provision state to %s",
			strings.Join(targetsWith(takes), ", "))
	}
	if object, ok := q.configDrive.(map[string]any); ok {
		return checkConfigDriveObject(q.Request, object)
	}
	text := q.configDrive.(string)
	if strings.Contains(text, "://") {
		return nil
	}
	for i := range len(text) {
		switch c := text[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("+/=\n\r\t ", c) >= 0:
		default:
			return fault.Invalid("Invalid configdrive format: it is neither a JSON, nor a URL, nor a base64 string")
		}
	}
	return nil
}

// checkConfigDriveObject refuses a config drive in the form of an object that has wrong keys.
func checkConfigDriveObject(r *rest.Request, object map[string]any) error {
	for _, key := range slices.Sorted(maps.Keys(object)) {
		has := schema.TypesOf(object[key])
		switch key {
		case "meta_data", "network_data", "vendor_data":
			if has[0] != "object" {
				return fault.Invalid("Invalid configdrive format: %s is not of type 'object'", key)
			}
		case "user_data":
			if !slices.Contains([]string{"object", "array", "string", "null"}, has[0]) {
				return fault.Invalid("Invalid configdrive format: user_data is not of type 'object', 'array', 'string', 'null'")
			}
		default:
			return fault.Invalid("Invalid configdrive format: Additional properties are not allowed ('%s' was unexpected)", fault.Show(key))
		}
	}
	if r.Version < since.ConfigDriveObject {
		return fault.Invalid("Providing a JSON object for configdrive is only supported starting with API version %v", since.ConfigDriveObject)
	}
	if _, ok := object["vendor_data"]; ok && r.Version < since.ConfigDriveVendor {
		return fault.Invalid("Providing vendor_data in configdrive is only supported starting with API version %v", since.ConfigDriveVendor)
	}
	return nil
}
