// SPDX-License-Identifier: Apache-2.0

package differ

import (
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/states"
)

// Intended is a kind of intended differences.
type Intended struct {
	Name     string
	From, To states.Series  // the first and the last series that have it; NoSeries for no bound
	Pattern  *regexp.Regexp // of the names of the classes
	Reason   string
}

//go:embed known.txt
var knownText string

// Known lists the intended differences, which are in known.txt. The first one of a series whose pattern matches the
// name of a class counts.
var Known = parseKnown(knownText)

// parseKnown parses the paragraphs of known.txt. Each is one intended difference, of three or four lines: its name,
// "series FROM - TO" if not all series have it, with an end that may be missing, the pattern between slashes, and the
// reason. A paragraph that begins with # is a comment. parseKnown panics for a malformed one.
func parseKnown(text string) (all []Intended) {
	for paragraph := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		if strings.HasPrefix(paragraph, "#") {
			continue
		}
		lines := strings.Split(paragraph, "\n")
		k := Intended{Name: lines[0], Reason: lines[len(lines)-1]}
		pattern := lines[len(lines)-2]
		if len(pattern) < 2 || pattern[0] != '/' || pattern[len(pattern)-1] != '/' {
			panic(fmt.Sprintf("differ: no pattern of %q", k.Name))
		}
		k.Pattern = regexp.MustCompile(pattern[1 : len(pattern)-1])
		if len(lines) == 4 {
			from, to, _ := strings.Cut(strings.TrimPrefix(lines[1], "series "), " -")
			k.From = mustSeries(from)
			if to != "" {
				k.To = mustSeries(to[1:])
			}
		}
		all = append(all, k)
	}
	return all
}

func mustSeries(text string) states.Series {
	s, err := states.ParseSeries(text)
	if err != nil {
		panic(err)
	}
	return s
}

// intended returns why a class is intended in a series, or nil if it is not.
func intended(class string, series states.Series) *Intended {
	i := slices.IndexFunc(Known, func(k Intended) bool {
		return series >= k.From && (k.To == states.NoSeries || series <= k.To) && k.Pattern.MatchString(class)
	})
	if i < 0 {
		return nil
	}
	return &Known[i]
}
