// SPDX-License-Identifier: Apache-2.0

// Package masked masks secrets in decoded JSON by the names of their keys, and the passwords of URLs in any text. In an
// object with the keys "name" and "value", such as a BIOS setting, the name is the key of the value.
package masked

import (
	"maps"
	"strings"
)

// Secret replaces a secret.
const Secret = "******"

// secretKeys are the substrings by which the key of a secret is recognized. Source: strutils of
// oslo.utils, and the SNMP keys that Ironic adds. SNMP communities, passwd and the key ipmi_hex_kg_key are ours.
var secretKeys = []string{
	"password", "adminpass", "admin_pass", "new_pass", "passphrase", "secret", "token", "configdrive",
	"encrypted_key", "private_key", "fernetkey", "sslkey", "auth_key", "priv_key", "sys_pswd",
	"snmp_community", "kg_key", "passwd",
}

// isSecret reports whether a key names a secret. Keys that end in pwd, such as AdminPwd, are ours; with more text
// behind it, as in PwdChangePolicy, they tell about a password.
func isSecret(key string) bool {
	key = strings.ToLower(key)
	for _, part := range secretKeys {
		if strings.Contains(key, part) {
			return true
		}
	}
	return strings.HasSuffix(strings.TrimRight(key, "0123456789"), "pwd")
}

// Object returns a copy of an object in which the secrets are masked, or the object itself if
// nothing was masked or copied.
func Object(m map[string]any) map[string]any {
	var masked map[string]any
	name, _ := m["name"].(string)
	for key, value := range m {
		by := key
		if key == "value" && isSecret(name) {
			by = name
		}
		shown, changed := maskValue(by, value)
		shownKey := Text(key)
		if !changed && shownKey == key {
			continue
		}
		if masked == nil {
			masked = maps.Clone(m)
		}
		delete(masked, key)
		masked[shownKey] = shown
	}
	if masked == nil {
		return m
	}
	return masked
}

// Value returns a value with its secrets masked.
func Value(v any) any {
	shown, _ := maskValue("", v)
	return shown
}

// maskValue returns the value of a key with its secrets masked, and whether anything was masked or copied. An
// object under a secret key is not masked as a whole but by its own keys, as in Ironic.
func maskValue(key string, value any) (shown any, changed bool) {
	switch v := value.(type) {
	case nil:
		return nil, false
	case map[string]any:
		return Object(v), true
	case []any:
		if isSecret(key) {
			return Secret, true
		}
		list := make([]any, len(v))
		for i, item := range v {
			list[i], _ = maskValue("", item)
		}
		return list, true
	case string:
		switch {
		case isSecret(key):
			return Secret, true
		case isProxy(key):
			shown := proxy(v)
			return shown, shown != v
		}
		shown := Text(v)
		return shown, shown != v
	default:
		if isSecret(key) {
			return Secret, true
		}
		return value, false
	}
}
