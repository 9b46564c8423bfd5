// SPDX-License-Identifier: Apache-2.0

// Package masked masks secrets in decoded JSON, by the names of their keys.
package masked

import (
	"maps"
	"strings"
)

// Secret replaces a secret.
const Secret = "******"

// secretKeys are the substrings by which the key of a secret is recognized. Source: strutils of
// oslo.utils, and the SNMP keys that Ironic adds.
var secretKeys = []string{
	"password", "adminpass", "admin_pass", "new_pass", "passphrase", "secret", "token", "configdrive",
	"encrypted_key", "private_key", "fernetkey", "sslkey", "auth_key", "priv_key", "sys_pswd",
}

func isSecret(key string) bool {
	key = strings.ToLower(key)
	for _, part := range secretKeys {
		if strings.Contains(key, part) {
			return true
		}
	}
	return false
}

// Object returns a copy of an object in which the secrets are masked, or the object itself if
// nothing was masked or copied.
func Object(m map[string]any) map[string]any {
	var masked map[string]any
	for key, value := range m {
		shown, changed := maskValue(isSecret(key), value)
		if !changed {
			continue
		}
		if masked == nil {
			masked = maps.Clone(m)
		}
		masked[key] = shown
	}
	if masked == nil {
		return m
	}
	return masked
}

// Value returns a value with its secrets masked.
func Value(v any) any {
	shown, _ := maskValue(false, v)
	return shown
}

// maskValue returns a value with its secrets masked, and whether anything was masked or copied. An
// object under a secret key is not masked as a whole but by its own keys, as in Ironic.
func maskValue(secret bool, value any) (shown any, changed bool) {
	switch v := value.(type) {
	case nil:
		return nil, false
	case map[string]any:
		return Object(v), true
	case []any:
		if secret {
			return Secret, true
		}
		list := make([]any, len(v))
		for i, item := range v {
			list[i], _ = maskValue(false, item)
		}
		return list, true
	default:
		if secret {
			return Secret, true
		}
		return value, false
	}
}
