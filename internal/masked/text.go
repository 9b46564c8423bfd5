// SPDX-License-Identifier: Apache-2.0

package masked

import (
	"math"
	"regexp"
	"strings"
)

// Text returns a text in which the passwords of URLs are masked: "http://user:PASSWORD@host/x" becomes
// "http://user:******@host/x".
//
// As parsers have it, the password is between the first colon and the last @ before the next slash, question mark or
// number sign. If the text there is neither a host nor has an @, so that no parser accepts the URL, the password
// ends at the last @ of the whole text. A URL within a longer text also ends at white space or a quotation mark, if
// it is complete there. Its slashes may be escaped, as some encoders of JSON do.
func Text(text string) string { return Start(text, math.MaxInt) }

// Start returns the first n bytes of [Text], or more of them, for a caller that cuts the text: URLs behind them cost
// nothing.
func Start(text string, n int) string {
	last := strings.LastIndexByte(text, '@')
	if last < 0 {
		return text
	}
	text, rest := text[:last+1], text[last+1:]
	at, alone := isURL.FindStringIndex(text), true // a scheme is not needed
	if at == nil {
		at, alone = slashes.FindStringIndex(text), false
	}
	var shown strings.Builder
	for ; at != nil && shown.Len() < n; at, alone = slashes.FindStringIndex(text), false {
		from, to := password(text[at[1]:], alone)
		shown.WriteString(text[:at[1]+from])
		if from < to {
			shown.WriteString(Secret)
		}
		text = text[at[1]+to:]
	}
	if shown.Len() >= n {
		return shown.String() // the passwords behind it are not masked
	}
	return shown.String() + text + rest
}

var (
	// isURL matches a text that is a URL, perhaps without a scheme.
	isURL = regexp.MustCompile(`^\s*([A-Za-z][A-Za-z0-9+.-]*:)?//`)
	// slashes matches the end of the scheme of a URL within a text.
	slashes = regexp.MustCompile(`:(//|\\+/\\+/)`)
	// host matches a host, perhaps with a port, at the beginning of a text, and a character that ends a URL within a text.
	host = regexp.MustCompile(
		`^(\[[0-9A-Fa-f:.]*(%[0-9A-Za-z.~%_-]*)?\]|[^\s/?#@:\[\]"'<>\\^\x60{|}[:cntrl:]]*)(:[0-9]*)?` +
			`($|[/?#\s"'<>\\^\x60{|}[:cntrl:]]|[,;.!)\]]+(\s|$))`)
	// hostAlone is host for a URL without text behind it.
	hostAlone = regexp.MustCompile(`^(\[[0-9A-Fa-f:.]*(%[0-9A-Za-z.~%_-]*)?\]|[^/?#@:\[\]]*)(:[0-9]*)?($|[/?#])`)
)

// password returns where the password of a URL begins and ends, given the text behind the slashes, up to the last @ of
// the text. If there is none, both are zero.
func password(text string, alone bool) (from, to int) {
	hosts, ends := host, "/?#\"<>\\^`{|} \t\r\n"
	if alone {
		hosts, ends = hostAlone, "/?#"
	}
	if hosts.MatchString(text) {
		return 0, 0
	}
	for _, ends := range []string{ends, "/?#", ""} {
		end := strings.LastIndexByte(beforeAny(text, ends), '@')
		if end < 0 {
			continue
		}
		if colon := strings.IndexByte(text[:end], ':'); colon >= 0 {
			return colon + 1, end
		}
		break
	}
	return 0, 0
}

// beforeAny returns the text before the first of the characters, the whole text if it has none of them.
func beforeAny(text, characters string) string {
	if i := strings.IndexAny(text, characters); i >= 0 {
		return text[:i]
	}
	return text
}

// isProxy reports whether a value is the URL of a proxy, which needs no scheme.
func isProxy(key string) bool { return strings.HasSuffix(strings.ToLower(key), "_proxy") }

// proxy returns the URL of a proxy with its password masked.
func proxy(text string) string {
	if isURL.MatchString(text) {
		return Text(text)
	}
	from, to := password(text, true)
	if from == to {
		return Text(text)
	}
	return text[:from] + Secret + text[to:]
}
