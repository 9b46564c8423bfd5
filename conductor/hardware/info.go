// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/oslobool"
)

// info reads the driver_info of a node. Its errors do not quote values that may be secret.
type info struct{ *conductor.Node }

// invalid returns the error of a key of driver_info.
func (i info) invalid(key, format string, args ...any) error {
	return invalidf("Invalid %s in node %s driver_info: %s", key, i.UUID, fmt.Sprintf(format, args...))
}

// require returns an error that lists the absent and empty keys, if there are any.
func (i info) require(what string, keys ...string) error {
	var missing []string
	for _, key := range keys {
		if value := i.DriverInfo[key]; value == nil || value == "" {
			missing = append(missing, "'"+key+"'")
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return invalidf("Missing the following %s in node %s driver_info: [%s]", what, i.UUID, strings.Join(missing, ", "))
}

// text reads a string, or a number in its written form; "" if the key is absent.
func (i info) text(key string) (string, error) {
	switch value := i.DriverInfo[key].(type) {
	case nil:
		return "", nil
	case string:
		return value, nil
	case json.Number:
		return value.String(), nil
	case int, int64, float64:
		return fmt.Sprint(value), nil
	default:
		return "", i.invalid(key, "it must be text")
	}
}

// texts reads several strings into variables.
func (i info) texts(into map[string]*string) error {
	for _, key := range slices.Sorted(maps.Keys(into)) {
		var err error
		if *into[key], err = i.text(key); err != nil {
			return err
		}
	}
	return nil
}

// port reads a port number, 0 if the key is absent.
func (i info) port(key string) (int, error) {
	text, err := i.text(key)
	if err != nil || text == "" {
		return 0, err
	}
	port, err := strconv.Atoi(text)
	if err != nil || port < 1 || port > 65535 {
		return 0, i.invalid(key, "%q is not a port from 1 to 65535", text)
	}
	return port, nil
}

// boolean reads true or false in any of Ironic's words.
func (i info) boolean(key string, absent bool) (bool, error) {
	switch value := i.DriverInfo[key].(type) {
	case nil:
		return absent, nil
	case bool:
		return value, nil
	}
	text, err := i.text(key)
	if err != nil {
		return false, err
	}
	value, ok := oslobool.Parse(text)
	if !ok {
		return false, i.invalid(key, "%q is neither true nor false", text)
	}
	return value, nil
}

// only refuses a value that is neither absent nor one of values.
func (i info) only(key, why string, values ...string) error {
	text, err := i.text(key)
	if err != nil {
		return err
	}
	if text != "" && !slices.Contains(values, text) {
		return i.invalid(key, "%s", why)
	}
	return nil
}
