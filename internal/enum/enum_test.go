package enum_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/enum"
	"github.com/ironstate/ironstate/states"
)

type colour uint8

var colours = &enum.Words{Type: "Colour", Kind: "colour", Words: []string{"none", "red"}}

func TestWords(t *testing.T) {
	require.Equal(t, "red", colours.String(1))
	require.Equal(t, "Colour(2)", colours.String(2))
	text, err := colours.Marshal(1)
	require.NoError(t, err)
	require.Equal(t, "red", string(text))
	_, err = colours.Marshal(2)
	require.EqualError(t, err, `unknown colour "Colour(2)"; known: none, red`)
	require.ErrorAs(t, err, new(*states.UnknownError))

	var c colour
	require.NoError(t, enum.Unmarshal(colours, &c, []byte("red")))
	require.Equal(t, colour(1), c)
	require.ErrorAs(t, enum.Unmarshal(colours, &c, []byte("blue")), new(*states.UnknownError))
	require.Equal(t, colour(1), c)
}
