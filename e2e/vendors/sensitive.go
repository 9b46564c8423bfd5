// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/netip"
	"regexp"
	"strings"
)

// kind is the kind of information in a value about the machine, its owner or its users.
type kind string

const (
	identity kind = "serial numbers, UUIDs, MAC addresses and tags"
	address  kind = "IP addresses"
	host     kind = "hosts, shares and images"
	person   kind = "users and mail addresses"
	place    kind = "places"
	removed  kind = "secrets and certificates"
	harmless kind = "" // the value is kept, except what is known, or has a telling form, in its text
)

const (
	gone    = "(removed)"    // in the place of a secret
	example = "example.test" // the domain of stand-ins, by RFC 6761
)

// kinds have the names of properties whose values are removed or replaced. A name is compared in lower case, by
// its letters and digits alone.
var kinds = []struct {
	kind  kind
	names *regexp.Regexp
}{
	{removed, regexp.MustCompile(`passw(or)?d|passphrase|secret|token|community|credential|cookie|fingerprint|entitlement` +
		`|(private|public|host|ssh|v3|ipmi|encryption|licen[sc]e|activation|registration)key$` +
		`|(auth|authentication|shared|product|session|api|kg|bmc)key$` +
		`|^certificate$|certificatestring|signaturestring|licensestring|^license$`)},
	{identity, regexp.MustCompile(`serialn(o|um|umber|br)|^serial$|servicetag|servicecode|assettag$|customasset|uuid|guid|^sku$` +
		`|nodeid|ww[np]n|^wwn|wwid|worldwide|durablename$|macaddr|networkaddress|^mac$|(port|nic)mac$|ppin$|chipid$|uniqueid|^eui|duid$`)},
	{host, regexp.MustCompile(`hostname$|^commonname$|fqdn|domainname$|dnsname$|racname|servername$` +
		`|(ntp|dns|name|syslog|ldap|smtp|proxy|remote|license)servers?$|^image(name)?$|sharename`)},
	{person, regexp.MustCompile(`username$|^user$|accountname|adminname|contact|email|ownername|^owner$|personname|phone` +
		`|(created|modified)by$`)},
	{place, regexp.MustCompile(`^location$|syslocation|(chassis|server)location|^building$|^(room|rack|row)(name)?$|datacenter|aisle` +
		`|^site(name)?$|latitude|longitude|altitude`)},
}

// settings ends the names of properties that tell how secrets are handled, and no secret.
var settings = regexp.MustCompile(`(policy|length|expiration|status|type|supported|enabled?|required|count|mode|days|hours|minutes` +
	`|seconds|format|complexity|delay|timeout)$`)

// wholes have the names of objects and lists that are emptied.
var wholes = regexp.MustCompile(`^(issuer|subject|postaladdress|contacts|placement)$`)

// placeholders are values that tell nothing, and roles are names of users that every BMC has.
var placeholders = regexp.MustCompile(`(?i)^(n/?a|none|null|nil|unknown|unspecified|default( string)?` +
	`|not ?(available|specified|present|set|supported|installed|applicable)|no asset (tag|information)|to be filled by o\.?e\.?m\.?` +
	`|true|false|yes|no|on|off|auto|manual|enabled?|disabled?|(un)?locked|(un)?supported|(un)?available|dhcp|static)$`)
var roles = regexp.MustCompile(`(?i)^(root|administrator|operator|readonly)$`)

// kindOf returns the kind of the values of a property.
func kindOf(name string) kind {
	if strings.Contains(name, "@") {
		return harmless
	}
	if strings.HasSuffix(name, "SN") {
		return identity
	}
	plain := letters(name)
	for _, k := range kinds {
		if k.names.MatchString(plain) && (k.kind != removed || !settings.MatchString(plain)) {
			return k.kind
		}
	}
	return harmless
}

// letters returns the letters and digits of a text, in lower case.
func letters(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, strings.ToLower(text))
}

// placeholder reports whether a value of a kind tells nothing: a word such as "N/A", or, unless it is a secret, a
// repetition of one character such as "0000-0000".
func placeholder(k kind, value string) bool {
	value = strings.TrimSpace(value)
	if k == removed || placeholders.MatchString(value) {
		return value == "" || placeholders.MatchString(value)
	}
	plain := letters(value)
	return strings.Trim(plain, plain[:min(1, len(plain))]) == "" || k == person && roles.MatchString(value)
}

// The forms of values that are found in any text.
var (
	pemForm    = regexp.MustCompile(`-----BEGIN [A-Z0-9 ]+-----(?s:.*?)(-----END [A-Z0-9 ]+-----|$)`)
	keyForm    = regexp.MustCompile(`AAAA[0-9A-Za-z+/]{40,}={0,2}|eyJ[\w-]{10,}\.[\w-]+\.[\w-]+`) // a key of SSH, a JSON web token
	uuidForm   = regexp.MustCompile(`[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}`)
	macForm    = regexp.MustCompile(`[0-9A-Fa-f]{2}(:[0-9A-Fa-f]{2}){5,}|[0-9A-Fa-f]{2}(-[0-9A-Fa-f]{2}){5,}`) // and longer ones
	ip6Form    = regexp.MustCompile(`[0-9A-Fa-f]{0,4}(:[0-9A-Fa-f]{0,4}){2,8}`)
	ip4Form    = regexp.MustCompile(`[0-9]{1,3}(\.[0-9]{1,3}){3}`)
	mailForm   = regexp.MustCompile(`[\w.+-]+@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+`)
	urlForm    = regexp.MustCompile(`([a-zA-Z][a-zA-Z0-9+.-]*://)([^/\s"'<>?#]+)([^\s"'<>?#]*)(\?[^\s"'<>#]*)?`)
	annotation = regexp.MustCompile(`@(odata|Redfish|Message)\.`)
	version    = regexp.MustCompile(`^[vV]?[0-9]+([._-][0-9]+)+$`)
	hexForm    = regexp.MustCompile(`^[0-9a-f]{12,}$`)
)

// standards end the hosts of URLs that specifications have, and no owner of a machine.
var standards = regexp.MustCompile(`(^|\.)(dmtf\.org|snia\.org|w3\.org|oasis-open\.org|odata\.org|opencompute\.org)$`)

// replaceForms replaces the matches of a form that are not a part of a longer word.
func replaceForms(form *regexp.Regexp, text string, replace func(string) string) string {
	var b strings.Builder
	end := 0
	for _, at := range form.FindAllStringIndex(text, -1) {
		if at[0] > 0 && wordy(text[at[0]-1:at[0]]) || wordy(text[at[1]:min(at[1]+1, len(text))]) || dotted(text, at[0], at[1]) {
			continue
		}
		b.WriteString(text[end:at[0]] + replace(text[at[0]:at[1]]))
		end = at[1]
	}
	return b.String() + text[end:]
}

func wordy(char string) bool { return letters(char) != "" }

// dotted reports whether a part of a text continues after a dot, as a version with five numbers.
func dotted(text string, from, to int) bool {
	return from > 1 && text[from-1] == '.' && wordy(text[from-2:from-1]) || to+1 < len(text) && text[to] == '.' && wordy(text[to+1:to+2])
}

// telling reports whether an IP address is the owner's: addresses that every machine has are kept, such as loopback
// addresses and masks.
func telling(a netip.Addr) bool {
	return !a.IsUnspecified() && !a.IsLoopback() && !a.IsMulticast() && (!a.Is4() || a.As4()[0] != 255)
}

// diaries are the schemas of resources that tell what happened, or who uses the BMC.
var diaries = regexp.MustCompile(`^#(LogEntry|\w*LogEntries|Session|EventDestination|Task|\w*Job)(Collection)?\.`)

// diaryPath is the path of such a collection, or of its member.
var diaryPath = regexp.MustCompile(`(?i)/(logservices/[^/]+/entries|logentries|sessionservice/sessions|subscriptions` +
	`|taskservice/tasks|jobs)(/[^/]+)*$`)
