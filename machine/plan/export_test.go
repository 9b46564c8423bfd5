package plan

import "github.com/ironstate/ironstate/states"

// Build works out all that is kept of a series' table.
func Build(t *states.Table) { new(index).build(t) }
