package plan

import "github.com/ironstate/ironstate/states"

// Build builds the index of a series' table anew.
func Build(t *states.Table) { new(index).build(t) }

// NewProgress returns a progress that no answer need have led to.
func NewProgress(tried Retries, stage uint8) Progress {
	return Progress{tried: tried, stage: toStage(stage)}
}

func toStage(n uint8) stage { return stage(n) }

// Tries and Stage return the parts of a progress.
func (p Progress) Tries() Retries { return p.tried }
func (p Progress) Stage() uint8   { return uint8(p.stage) }

// Stages.
const (
	Open  = uint8(open)
	Asked = uint8(asked)
)
