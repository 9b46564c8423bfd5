// SPDX-License-Identifier: Apache-2.0

package main

import (
	_ "embed"
	"fmt"
	"strings"
)

// equivalent lists the mutants that behave as the original code does, so that no test can kill them. A line that begins
// with a tab is a mutant's String, and the last other line before it is the reason.
//
//go:embed equivalent.txt
var equivalent string

// equivalents returns the reasons in the list equivalent, by the mutant's String. It
// returns an error if a listed mutant does not exist.
func equivalents(all []mutant) (map[string]string, error) {
	exists := make(map[string]bool, len(all))
	for _, m := range all {
		exists[m.String()] = true
	}
	reasons, reason := map[string]string{}, ""
	for line := range strings.Lines(equivalent) {
		text := strings.TrimSuffix(line, "\n")
		name, listed := strings.CutPrefix(text, "\t")
		switch {
		case !listed:
			reason = text
		case !exists[name]:
			return nil, fmt.Errorf("%w: there is no mutant %s", errOutOfDate, name)
		default:
			reasons[name] = reason
		}
	}
	return reasons, nil
}
