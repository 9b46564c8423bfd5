package graph

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

// Diagram describes a drawing. Only Table must be set: the methods of a zero Diagram
// return [machine.ErrNoTable]. A Diagram is a value: copies are independent, and
// goroutines may share one if they may share its functions.
type Diagram struct {
	// Table is the series' machine.
	Table *states.Table
	// Since is the machine of an older series to compare with. States and
	// transitions that are new since then are green, removed ones are red and
	// dashed. A newer series is an error that matches [ErrSince].
	Since *states.Table
	// From leaves out the states that cannot be reached from this one.
	From states.State
	// Only leaves out all other states, unless it is empty.
	Only states.Set
	// RequestsOnly leaves out the transitions that the conductor alone fires. The
	// states stay.
	RequestsOnly bool

	// Current is a state to highlight, as that of a node.
	Current states.State
	// Path is a sequence of transitions to highlight, as a node's history.
	// [Through] makes one from states.
	Path []states.Transition

	// Title is the heading. An empty one is replaced by one that names the series.
	Title string
	// Description is for readers who do not see the diagram. An empty one is
	// replaced by a summary.
	Description string
	// Describe returns the tooltip of a state, which screen readers read too. If it
	// is nil or returns an empty text, the tooltip is made from the table.
	Describe func(states.State) string
	// Link returns the address that a state links to: a path, or an http or https
	// URL. An empty address is no link, any other is an error that matches
	// [ErrLink]. Mermaid has no links.
	Link func(states.State) string

	Direction Direction
	Theme     Theme
	// NoLegend leaves out the legend.
	NoLegend bool
}

// Direction is the direction of the edges that lead on in a node's life. The zero
// value is TopDown.
type Direction uint8

// The directions.
const (
	TopDown     Direction = iota // "TB"
	LeftToRight                  // "LR"
)

var directionWords = []string{TopDown: "TB", LeftToRight: "LR"}

// ParseDirection returns the direction of the words "TB" and "LR", which are
// Graphviz's and Mermaid's, in small or capital letters. Any other word is a
// [*states.UnknownError].
func ParseDirection(word string) (Direction, error) {
	return parse[Direction]("direction", directionWords, word)
}

// String returns "TB" or "LR", or a form like "Direction(99)".
func (d Direction) String() string { return wordOf(d, "Direction", directionWords) }

// Theme is a set of colours. The zero value is Light.
type Theme uint8

// The themes, for pages with a light and with a dark background.
const (
	Light Theme = iota // "light"
	Dark               // "dark"
)

var themeWords = []string{Light: "light", Dark: "dark"}

// ParseTheme returns the theme of the words "light" and "dark", in small or capital
// letters. Any other word is a [*states.UnknownError].
func ParseTheme(word string) (Theme, error) { return parse[Theme]("theme", themeWords, word) }

// String returns "light" or "dark", or a form like "Theme(99)".
func (t Theme) String() string { return wordOf(t, "Theme", themeWords) }

func parse[T ~uint8](kind string, words []string, word string) (T, error) {
	for n, known := range words {
		if strings.EqualFold(word, known) {
			return T(n), nil
		}
	}
	return 0, &states.UnknownError{Kind: kind, Word: word, Known: slices.Clone(words)}
}

func wordOf[T ~uint8](n T, kind string, words []string) string {
	if int(n) < len(words) {
		return words[n]
	}
	return fmt.Sprintf("%s(%d)", kind, n)
}

// Caption returns the title and the description that the formats are written with:
// the Diagram's own, or the ones that replace empty ones. The errors are those of
// [Diagram.WriteDOT].
func (d Diagram) Caption() (title, description string, err error) {
	m, err := d.model()
	if err != nil {
		return "", "", err
	}
	return m.title, m.description, nil
}

// check returns an error unless every field can be drawn.
func (d Diagram) check() error {
	switch {
	case d.Table.States().Len() == 0:
		return machine.ErrNoTable
	case d.Since.Series() > d.Table.Series():
		return fmt.Errorf("%w: what changed since %v cannot be shown in %v; exchange the two", ErrSince, d.Since.Series(), d.Table.Series())
	case int(d.Direction) >= len(directionWords):
		return &states.UnknownError{Kind: "direction", Word: d.Direction.String(), Known: slices.Clone(directionWords)}
	case int(d.Theme) >= len(themeWords):
		return &states.UnknownError{Kind: "theme", Word: d.Theme.String(), Known: slices.Clone(themeWords)}
	}
	for _, s := range []states.State{d.From, d.Current} {
		if s != states.NoState && !d.states().Has(s) {
			return &machine.StateError{Series: d.Table.Series(), State: s}
		}
	}
	return d.checkPath()
}

func (d Diagram) checkPath() error {
	for _, step := range d.Path {
		if !has(d.Table, step) && !has(d.Since, step) {
			return fmt.Errorf("%w: %v in %v", ErrNoTransition, step, d.Table.Series())
		}
	}
	return nil
}

// states returns the states of both tables.
func (d Diagram) states() states.Set { return d.Table.States().Union(d.Since.States()) }

func has(t *states.Table, row states.Transition) bool {
	to, ok := t.Next(row.From, row.Event)
	return ok && to == row.To
}

// link returns the address of a state's page, empty where it has none.
func (d Diagram) link(s states.State) (string, error) {
	if d.Link == nil {
		return "", nil
	}
	address := d.Link(s)
	u, err := url.Parse(address)
	if err != nil || (u.Scheme != "" && u.Scheme != "http" && u.Scheme != "https") {
		return "", fmt.Errorf("%w: %q of state %q; links are paths or http and https URLs", ErrLink, address, s)
	}
	return strings.ToValidUTF8(u.String(), "\uFFFD"), nil
}
