// SPDX-License-Identifier: Apache-2.0

package agentimage

import (
	"regexp"
	"slices"
	"strings"
)

// The patterns of image_no_proxy and of the scheme of a proxy's URL.
var (
	hostPattern   = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$`)
	schemePattern = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.-]*):`)
)

// checkProxies refuses proxies that the agent cannot use. The error does not quote a proxy, which may contain a
// password.
//
// Source: validate_image_proxies in ironic/drivers/modules/agent.py and is_valid_no_proxy in ironic/common/utils.py.
func checkProxies(driverInfo map[string]any) error {
	var wrong []string
	for _, key := range []string{"image_http_proxy", "image_https_proxy"} {
		value := driverInfo[key]
		if value == nil || value == "" {
			continue
		}
		proxy, ok := value.(string)
		scheme := schemePattern.FindStringSubmatch(proxy)
		if !ok || scheme != nil && !slices.Contains([]string{"http", "https"}, strings.ToLower(scheme[1])) {
			wrong = append(wrong, key)
		}
	}
	if len(wrong) > 0 {
		return invalid("Proxy URL should either have HTTP(S) scheme or no scheme at all, "+
			"the following URLs are invalid: %s.", strings.Join(wrong, ", "))
	}
	if value := driverInfo["image_no_proxy"]; value != nil && !validNoProxy(value) {
		return invalid("image_no_proxy should be a list of host names, IP addresses or domain names to exclude from proxying, "+
			"the specified list %v is incorrect. To denote a domain name, prefix it with a dot (instead of e.g. '.*').", value)
	}
	return nil
}

func validNoProxy(value any) bool {
	list, ok := value.(string)
	wrong := func(part string) bool { return !hostPattern.MatchString(part) }
	for host := range strings.SplitSeq(list, ",") {
		host, _, _ = strings.Cut(strings.TrimSpace(host), ":")
		domain, isDomain := strings.CutPrefix(host, ".")
		most := 253
		if isDomain {
			most = 251
		}
		if host != "" && (len(domain) > most || slices.ContainsFunc(strings.Split(domain, "."), wrong)) {
			return false
		}
	}
	return ok
}
