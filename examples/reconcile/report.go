package main

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"

	"github.com/ironstate/ironstate/machine/plan"
	"github.com/ironstate/ironstate/states"
)

// report prints what happens. What Ironic says is printed on one line, without
// the rescue password.
type report struct {
	out      io.Writer
	secret   string
	began    time.Time
	last     string // the last step, less its time
	fault    string // the last error that was printed
	sent     int    // requests that Ironic has taken
	refusals int    // how many there were
}

const lineFormat = "%-12s  %-5s  %-14s  %-10s  %s\n"

func (r *report) begin(node string, goal plan.Goal, n negotiation) {
	fmt.Fprintf(r.out, "%s shall come to %v; Ironic speaks API %v to %v, asked in %v as a server of %v.\n",
		node, goal, n.first, n.last, n.version, n.table.Series())
	fmt.Fprintf(r.out, lineFormat, "TIME", "SENT", "STATE", "TARGET", "STEP")
}

// step prints a step unless it is the one that was printed last, with the number of
// requests sent, the step's included, of how many there will have been when all goes
// well.
func (r *report) step(node node, step plan.Step) {
	if node.LastError != r.fault {
		r.fault = node.LastError
		if r.fault != "" {
			r.note("last error: " + r.fault)
		}
	}
	sent, all := r.sent, r.sent+step.Left
	if step.Action == plan.Send {
		sent++
	}
	progress := fmt.Sprintf("%d/%d", sent, all)
	text := describe(node, step)
	state := r.clean(node.reported.String())
	line := fmt.Sprintf(lineFormat, "", progress, state, node.Target, text)
	if line != r.last {
		r.last = line
		fmt.Fprintf(r.out, lineFormat, now(), progress, state, node.Target, text)
	}
}

func describe(node node, step plan.Step) string {
	text := step.String()
	switch {
	case step.Action == plan.Done && node.facts.Maintenance:
		return text + ", in maintenance"
	case step.Action == plan.Send && step.Work != states.NoState:
		text += " to start " + step.Work.String()
		if step.Try > 1 {
			text += fmt.Sprintf(", try %d", step.Try)
		}
	case step.Action == plan.Wait && step.Call:
		text += ", after a call from the node"
	}
	return text
}

// refused prints an answer after which Ironic is asked again, and when. The step
// that follows is printed even if it is the same.
func (r *report) refused(err error, wait time.Duration) {
	r.refusals++
	r.last = ""
	r.note(fmt.Sprintf("%s; again in %v", strings.TrimSuffix(err.Error(), "."), wait))
}

func (r *report) reached(node string, wish plan.Wish) {
	fmt.Fprintf(r.out, "\n%s has come to %v; requests accepted: %d, refused for a while: %d, in %.1fs.\n",
		node, wish.Goal, r.sent, r.refusals, time.Since(r.began).Seconds())
}

func (r *report) note(text string) {
	fmt.Fprintf(r.out, lineFormat, now(), "", "", "", r.clean(text))
}

func now() string { return time.Now().Format(time.TimeOnly + ".000") }

// clean makes a text fit to print: one line, without control characters, which
// could play with a terminal, and without the secret.
func (r *report) clean(text string) string {
	if r.secret != "" {
		text = strings.ReplaceAll(text, r.secret, "***")
	}
	text = strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return ' '
		}
		return c
	}, text)
	return strings.Join(strings.Fields(text), " ")
}
