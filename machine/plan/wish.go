package plan

import (
	"github.com/ironstate/ironstate/internal/enum"
	"github.com/ironstate/ironstate/states"
)

// Wish is all that [Next] has to know beside the node: what is wanted, what may
// be done for it, and how far it has come. It is a value: store it next to the
// node, as JSON for instance, compare it with ==, share copies.
type Wish struct {
	Goal Goal `json:"goal"`
	// Version is the API version that requests are sent with; none is 1.1, as in
	// Ironic. One above the series' highest counts as the highest, so that a
	// server newer than the table breaks nothing; see Step.Version.
	Version states.APIVersion `json:"version"`
	// Policy is what may be done; the zero Policy destroys, ends and retries
	// nothing.
	Policy Policy `json:"policy"`
	// Facts is what else is known of the node now: look at the node anew before
	// each call. It is no part of what is stored.
	Facts Facts `json:"-"`
	// Progress is Step.Progress of the last answer. A wish begins with the zero
	// Progress; to make the same wish again, begin again.
	Progress Progress `json:"progress"`
}

// Policy says what may be done to reach a goal; the package comment says what
// counts as what.
type Policy struct {
	// MayAbort: what waits or is held may be ended where going on would lead no
	// nearer to the goal. Otherwise it is waited out.
	MayAbort bool `json:"may_abort"`
	// MayDestroy: a workload may be torn down or overwritten, where no other way
	// leads to the goal.
	MayDestroy bool `json:"may_destroy"`
	// Retries is how often each work may be tried again after it failed.
	Retries Counts `json:"retries"`
}

// Progress is how far a wish has come.
type Progress struct {
	// Requests counts what was sent since the wish was made.
	Requests uint16 `json:"requests"`
	// Tried counts how often each work was started since the goal was last
	// reached. Work that the node was found to have failed at counts as tried
	// once.
	Tried Counts `json:"tried"`
	// Stage is how far work that is to be done once has come.
	Stage Stage `json:"stage"`
}

// Stage is how far work that is to be done once has come. For goals that are a
// state it stays Open.
type Stage uint8

const (
	// Open: not asked for yet, or failed.
	Open Stage = iota
	// Asked: asked for, and not known to have ended.
	Asked
	// Finished: done.
	Finished
)

var stageWords = &enum.Words{Type: "Stage", Kind: "stage", Words: []string{"open", "asked", "finished"}}

// String returns the word of the constant in lower case, or a form like
// "Stage(99)" for a number that is none.
func (s Stage) String() string { return stageWords.String(uint8(s)) }

// MarshalText returns the word. A number that is no stage is a
// [*states.UnknownError].
func (s Stage) MarshalText() ([]byte, error) { return stageWords.Marshal(uint8(s)) }

// UnmarshalText takes what MarshalText returns; s keeps its value on error.
func (s *Stage) UnmarshalText(text []byte) error { return enum.Unmarshal(stageWords, s, text) }
