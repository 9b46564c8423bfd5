package render

import (
	"errors"
	"html"
	"strings"
)

// A scanner finds the elements of an SVG that Graphviz wrote. It is no XML parser:
// it relies on what Graphviz keeps to, attributes in double quotes without angle
// brackets, and takes less than a tenth of the time of encoding/xml.
type scanner struct {
	rest string // of the SVG
}

var errCut = errors.New("it ends too soon")

// next returns the next element, in the order of their starts; ok is false after
// the last.
func (s *scanner) next() (e element, ok bool, err error) {
	for {
		_, tag, more := strings.Cut(s.rest, "<")
		if !more {
			return element{}, false, errCut
		}
		tag, s.rest, more = strings.Cut(tag, ">")
		switch {
		case !more:
			return element{}, false, errCut
		case tag == "/svg":
			return element{}, false, nil
		case strings.HasPrefix(tag, "/"), strings.HasPrefix(tag, "?"), strings.HasPrefix(tag, "!"):
			continue
		}
		e.content, _, _ = strings.Cut(s.rest, "<")
		e.name, e.attributes, _ = strings.Cut(strings.TrimSuffix(tag, "/"), " ")
		return e, true, nil
	}
}

// An element of an SVG, as it is written.
type element struct {
	name       string
	attributes string
	content    string // up to the next tag
}

// get returns an attribute, empty where it is not there.
func (e element) get(name string) string {
	rest := e.attributes
	for rest != "" {
		var found, value string
		found, rest, _ = strings.Cut(rest, `="`)
		value, rest, _ = strings.Cut(rest, `"`)
		if strings.TrimSpace(found) == name {
			return html.UnescapeString(value)
		}
	}
	return ""
}

// words returns the text in the element.
func (e element) words() string { return html.UnescapeString(e.content) }
