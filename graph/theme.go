// SPDX-License-Identifier: Apache-2.0

package graph

// A palette is the colours of a theme, as #rrggbb.
type palette struct {
	page, part, partBorder string
	text, muted            string // for important texts, and for the others
	node                   string // the fill of a state
	border                 string // of a state in which the conductor works
	request                string
	conductor              string
	bad, badNode           string
	path                   string
	currentNode            string
	added, addedNode       string
	removed                string
}

var (
	light = palette{
		page: "#ffffff", part: "#f3f6fa", partBorder: "#d8e0ea",
		text: "#1f2328", muted: "#59636e",
		node: "#ffffff", border: "#8c959f",
		request: "#0b63c4", conductor: "#8c959f",
		bad: "#c21c2b", badNode: "#fff3f2",
		path: "#d9730d", currentNode: "#ffe7b8",
		added: "#1a7f37", addedNode: "#e3f7e8",
		removed: "#c21c2b",
	}
	dark = palette{
		page: "#0d1117", part: "#151b23", partBorder: "#2b333d",
		text: "#f0f6fc", muted: "#a5afba",
		node: "#0d1117", border: "#7d8793",
		request: "#5aaeff", conductor: "#7d8793",
		bad: "#ff7b72", badNode: "#2a1518",
		path: "#f0932b", currentNode: "#5a3d06",
		added: "#3fb950", addedNode: "#12301b",
		removed: "#ff7b72",
	}
)
