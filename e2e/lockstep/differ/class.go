// SPDX-License-Identifier: Apache-2.0

package differ

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/e2e/lockstep"
)

// Class is a kind of difference.
type Class struct {
	Name     string // the method, the path with placeholders, and the difference
	Count    int
	Examples []Example
	Intended *Intended // nil if it is not intended, see [Known]
}

// Example is a difference that was found.
type Example struct {
	Seed, Round       uint64
	Number            int // of the request in its round
	Request           Request
	Ironic, Ironstate string // the answers, and the records that differ
}

// Result holds the findings of a run.
type Result struct {
	Ironic    lockstep.Installation
	Requests  int // that both sides got
	Different int // requests with an answer or a record that differs
	Listed    int // requests in Different whose differences are all listed in [Known]
	Statuses  int // requests in Different with another status that is not listed
	Classes   map[string]*Class
	Intended  map[*Intended]int // requests with an intended difference
}

// add counts the differences of one request.
func (r *Result) add(examples int, names []string, e Example) {
	if len(names) == 0 {
		return
	}
	r.Different++
	listed, status, kinds := true, false, map[*Intended]bool{}
	for _, name := range names {
		c := r.Classes[name]
		if c == nil {
			c = &Class{Name: name, Intended: intended(name, r.Ironic.Series)}
			r.Classes[name] = c
		}
		c.Count++
		if c.Intended == nil {
			listed, status = false, status || otherStatus.MatchString(name)
		} else if !kinds[c.Intended] {
			kinds[c.Intended] = true
			r.Intended[c.Intended]++
		}
		if len(c.Examples) < examples {
			c.Examples = append(c.Examples, e)
		}
	}
	if listed {
		r.Listed++
	}
	if status {
		r.Statuses++
	}
}

// otherStatus matches the name of a class whose statuses differ.
var otherStatus = regexp.MustCompile(`: \d{3} -> \d{3}: `)

// merge adds another result.
func (r *Result) merge(other *Result, examples int) {
	r.Requests += other.Requests
	r.Different += other.Different
	r.Listed += other.Listed
	r.Statuses += other.Statuses
	for known, count := range other.Intended {
		r.Intended[known] += count
	}
	for name, c := range other.Classes {
		have := r.Classes[name]
		if have == nil {
			r.Classes[name] = c
			continue
		}
		have.Count += c.Count
		have.Examples = append(have.Examples, c.Examples...)
		have.Examples = have.Examples[:min(len(have.Examples), examples)]
	}
}

func newResult(ironic lockstep.Installation) *Result {
	return &Result{Ironic: ironic, Classes: map[string]*Class{}, Intended: map[*Intended]int{}}
}

// Sorted returns the classes, the most frequent first.
func (r *Result) Sorted() []*Class {
	return slices.SortedFunc(maps.Values(r.Classes), func(a, b *Class) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Name, b.Name))
	})
}

// Unexpected returns the classes that are not listed in [Known].
func (r *Result) Unexpected() []*Class {
	return slices.DeleteFunc(r.Sorted(), func(c *Class) bool { return c.Intended != nil })
}

func percent(part, whole int) float64 { return 100 * float64(part) / float64(max(whole, 1)) }

// maxShown bounds the text of an answer in the report.
const maxShown = 1500

// Write writes the result as text, the unexpected classes first.
func (r *Result) Write(w io.Writer) error {
	var text strings.Builder
	unexpected := r.Unexpected()
	fmt.Fprintf(&text, "%d requests, %d with differences (%.2f %%) in %d classes; %d (%.2f %%) are intended, and %d classes;\n"+
		"%d (%.2f %%) are not intended, of which %d (%.2f %%) have another status\n",
		r.Requests, r.Different, percent(r.Different, r.Requests), len(r.Classes),
		r.Listed, percent(r.Listed, r.Requests), len(r.Classes)-len(unexpected),
		r.Different-r.Listed, percent(r.Different-r.Listed, r.Requests), r.Statuses, percent(r.Statuses, r.Requests))
	r.writeIntended(&text)
	for _, c := range unexpected {
		c.write(&text)
	}
	for _, c := range r.Sorted() {
		if c.Intended != nil {
			fmt.Fprintf(&text, "\nintended, %s:", c.Intended.Name)
			c.write(&text)
		}
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// writeIntended writes the intended differences as a table in Markdown, the most frequent
// first.
func (r *Result) writeIntended(text *strings.Builder) {
	all := slices.SortedFunc(maps.Keys(r.Intended), func(a, b *Intended) int {
		return cmp.Or(cmp.Compare(r.Intended[b], r.Intended[a]), strings.Compare(a.Name, b.Name))
	})
	fmt.Fprintf(text, "\n| intended difference | answers | reason |\n| --- | ---: | --- |\n")
	for _, known := range all {
		fmt.Fprintf(text, "| %s | %d | %s |\n", known.Name, r.Intended[known], known.Reason)
	}
}

func (c *Class) write(text *strings.Builder) {
	fmt.Fprintf(text, "\n%6d  %s\n", c.Count, c.Name)
	for _, e := range c.Examples {
		fmt.Fprintf(text, "    -seed %d -round %d, request %d: %v\n", e.Seed, e.Round, e.Number, e.Request)
		fmt.Fprintf(text, "    Ironic:    %s\n    ironstate: %s\n", cut(e.Ironic), cut(e.Ironstate))
	}
}

func cut(text string) string {
	text = strings.TrimSpace(text)
	if len(text) > maxShown {
		return strings.ToValidUTF8(text[:maxShown], "") + "…"
	}
	return text
}
