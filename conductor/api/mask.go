package api

import (
	"maps"
	"strings"
)

// mask stands for a secret in answers.
const mask = "******"

// secretKeys are parts of the keys of secrets. Source: strutils of oslo.utils, and the
// SNMP keys that Ironic adds.
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

// maskSecrets returns an object with masks in place of its secrets; it is the object
// itself where that has none.
func maskSecrets(m map[string]any) map[string]any {
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

// maskValue returns a value as answers show it, and whether anything was masked or
// copied. It masks inside an object under a secret key, as Ironic does.
func maskValue(secret bool, value any) (shown any, changed bool) {
	switch v := value.(type) {
	case nil:
		return nil, false
	case map[string]any:
		return maskSecrets(v), true
	case []any:
		if secret {
			return mask, true
		}
		list := make([]any, len(v))
		for i, item := range v {
			list[i], _ = maskValue(false, item)
		}
		return list, true
	default:
		if secret {
			return mask, true
		}
		return value, false
	}
}

// maskInstance masks, beside the secrets, the config drive and the URL of the image,
// which may let its holder read them.
//
// Source: node_sanitize in ironic/api/controllers/v1/node.py.
func maskInstance(m map[string]any) map[string]any {
	masked := maskSecrets(m)
	for _, key := range []string{"configdrive", "image_url"} {
		if v := m[key]; v != nil && v != "" {
			masked = maps.Clone(masked)
			masked[key] = mask
		}
	}
	return masked
}
