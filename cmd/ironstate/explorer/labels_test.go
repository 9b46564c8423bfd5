// SPDX-License-Identifier: Apache-2.0

package explorer_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/conductortest"
	"github.com/ironstate/ironstate/internal/browsertest"
	"github.com/ironstate/ironstate/states"
)

// overprinted has the pairs of texts in the diagram of which one covers the other by more than half a pixel. The box of
// a number counts as its text. The line of a text is higher than its letters: a third of it is left out.
const overprinted = `(() => {
	const shown = [...document.querySelectorAll('#main text, #main g.number rect')].filter((e) => e.checkVisibility());
	const boxes = shown.map((e) => {
		const { left, right, top, bottom } = e.getBoundingClientRect();
		const cut = e.tagName === 'text' ? (bottom - top) / 6 : 0;
		const number = e.closest('g.number');
		const name = e.textContent + ' of ' + e.closest('[data-id]').dataset.id;
		return { name, number, left, right, top: top + cut, bottom: bottom - cut };
	});
	const found = [];
	boxes.forEach((a, i) => boxes.slice(i + 1).forEach((b) => {
		if (a.number && a.number === b.number) return;
		const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
		const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
		if (wide > 0.5 && high > 0.5) found.push(a.name + ' over ' + b.name);
	}));
	return found;
})()`

func TestNoLabelOfTheDiagramCoversAnother(t *testing.T) {
	s := start(t, conductortest.Config{})
	for state := range states.Latest().Table().States().All() {
		for range 12 {
			s.Add(conductor.Node{ProvisionState: state, Maintenance: true})
		}
	}
	b := open(t, s, "")
	require.Equal(t, "12", b.badge("service_hold"))
	texts := "[...document.querySelectorAll('#main text')].filter((e) => e.checkVisibility()).length"
	for _, width := range []int64{700, 830, 1280, 1920} {
		b.size(width)
		require.Greater(t, browsertest.Eval[int](b.Tab, texts), 100)
		require.Empty(t, browsertest.Eval[[]string](b.Tab, overprinted), "at %d pixels", width)
	}
}
