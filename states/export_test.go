package states

// VerbsOf returns the VERBS of a series' source.
func VerbsOf(t *Table) map[string]Event { return t.verbs() }
