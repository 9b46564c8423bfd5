// SPDX-License-Identifier: Apache-2.0

package render

import (
	"testing"

	"github.com/stretchr/testify/require"
)

const page = `<polygon fill="#ffffff" stroke="none" points="0,0 0,-40 50,-40 50,0 0,0"/>`

func TestDrawingIsReadByElement(t *testing.T) {
	d, err := readDrawing(`<?xml version="1.0"?><!DOCTYPE svg>
		<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="50pt" height="40pt" viewBox="0 0 50 40">
		<g id="graph0" class="graph" transform="translate(0 40)"><title>provisioning</title>
		<g id="a_graph0"><a xlink:title="heading">` + page + `<text x="1" y="2">a &amp; b</text></a></g>
		<g id="state&#45;a" class="node state stable"><title>n1</title>
		<g id="a_state&#45;a"><a xlink:href="/a" xlink:title="is &lt;a&gt;"><path d="M1,2C3,4 5,6 7,8"/></a></g>
		<text>a</text></g>
		</g></svg>`)
	require.NoError(t, err)
	require.Equal(t, []string{"50pt", "40pt", "0 0 50 40", "translate(0 40)"}, []string{d.width, d.height, d.viewBox, d.transform})
	require.Equal(t, "#ffffff", d.page.get("fill"))
	require.Len(t, d.heading, 1)
	require.Equal(t, "a & b", d.heading[0].Text)
	require.Len(t, d.items, 1)
	i := d.items[0]
	require.Equal(t, []string{"state-a", "state stable", "is <a>", "/a"}, []string{i.id, i.class, i.title, i.link})
	require.Len(t, i.shapes, 2)
	require.Equal(t, "M1,2C3,4 5,6 7,8", i.shapes[0].get("d"))
	require.Equal(t, "a", i.shapes[1].Text)
}

func TestWhatIsNoDrawingIsAnError(t *testing.T) {
	for name, svg := range map[string]string{
		"nothing":   "",
		"no graph":  "<svg></svg>",
		"no page":   "<svg><g><g></g></g></svg>",
		"cut short": "<svg><g><g>" + page,
	} {
		_, err := readDrawing(svg)
		require.Error(t, err, name)
	}
}

func TestWhatCannotBePaintedIsAnError(t *testing.T) {
	for name, mark := range map[string]string{
		"a text nowhere":   `<text x="left" y="1" font-size="9">a</text>`,
		"a text too large": `<text x="1" y="1" font-size="large">a</text>`,
		"a crooked path":   `<path d="M1,two"/>`,
		"a crooked curve":  `<path d="M1,2C3,4 5,six 7,8"/>`,
		"a wide stroke":    `<path fill="none" stroke="#000000" stroke-width="wide" d="M1,2C3,4 5,6 7,8"/>`,
		"odd dashes":       `<path fill="none" stroke="#000000" stroke-dasharray="-- -" d="M1,2C3,4 5,6 7,8"/>`,
	} {
		d, err := readDrawing(`<svg><g><g>` + page + mark + `</g></g></svg>`)
		require.NoError(t, err, name)
		_, err = d.png()
		require.ErrorIs(t, err, ErrLayout, name)
	}
	for _, points := range []string{"0,0", "0,0 0,-1e9 1e9,-1e9 1e9,0", "0,0 0,NaN 50,NaN 50,0", "0,0 x,y"} {
		d, err := readDrawing(`<svg><g><g><polygon points="` + points + `"/></g></g></svg>`)
		require.NoError(t, err, points)
		_, err = d.png()
		require.ErrorIs(t, err, ErrLayout, points)
	}
}
