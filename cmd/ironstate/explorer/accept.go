// SPDX-License-Identifier: Apache-2.0

package explorer

import (
	"mime"
	"strconv"
	"strings"
)

// prefersHTML reports whether Accept headers give HTML more weight than JSON. Clients that accept
// any type, such as curl and Ironic's clients, do not prefer HTML.
func prefersHTML(accept []string) bool {
	html, json := weight{}, weight{}
	for entry := range strings.SplitSeq(strings.Join(accept, ","), ",") {
		kind, parameters, err := mime.ParseMediaType(strings.TrimSpace(entry))
		if err != nil {
			continue
		}
		q := 1.0
		if text, ok := parameters["q"]; ok {
			if q, err = strconv.ParseFloat(text, 64); err != nil || !(q >= 0 && q <= 1) {
				continue
			}
		}
		html.match(kind, "text", "html", q)
		json.match(kind, "application", "json", q)
	}
	return html.q > json.q
}

// weight is the quality of a media type, which the most specific matching range sets.
type weight struct {
	q        float64
	specific int // 0 if no range matches, 3 for the type itself
}

// match sets the weight of the type "of/name" to q if the media range kind matches more specifically than those before.
func (w *weight) match(kind, of, name string, q float64) {
	specific := 0
	switch kind {
	case of + "/" + name:
		specific = 3
	case of + "/*":
		specific = 2
	case "*/*":
		specific = 1
	}
	if specific > w.specific {
		*w = weight{q, specific}
	}
}
