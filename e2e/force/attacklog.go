// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/ironstate/ironstate/e2e/force/history"
)

// verdict is what the answer to an attack says.
type verdict uint8

const (
	undecided verdict = iota // or not by the defense that the attack is for: a fault, or the node has moved on
	defended
	accepted
)

// judge decides about the answer to an attack; the status is 0 if there was none. A conductor answers 500 while etcd
// has no leader, and 504 if it does not answer in time, which refuses nothing.
func (a attack) judge(status int, text string) verdict {
	switch {
	case status == 0, status == http.StatusInternalServerError, status == http.StatusGatewayTimeout:
		return undecided
	case (status < 400 || status >= 500) && status != http.StatusServiceUnavailable && (a.want == 0 || status != a.want):
		return accepted
	case !strings.Contains(text, a.reason):
		return undecided
	default:
		return defended
	}
}

// attackLog counts the attacks. Those that were accepted, or not answered without a fault, are findings.
type attackLog struct {
	mu                  sync.Mutex
	refused, unanswered map[string]int      // by the name of the attack
	last                map[string]string   // the last answer without a refusal, by the name of the attack
	given               map[string][]string // the tokens that lookups have given out, by the UUID of their nodes
	idle                int                 // connections that were opened
	found               []history.Finding
}

func newAttackLog() *attackLog {
	return &attackLog{refused: map[string]int{}, unanswered: map[string]int{}, last: map[string]string{}, given: map[string][]string{}}
}

// find records a finding. The caller holds mu.
func (l *attackLog) find(format string, args ...any) {
	l.found = append(l.found, history.Finding{Rule: "attacks", Text: fmt.Sprintf(format, args...)})
}

// add records the answer to an attack; the status is 0 if there was none. No answer may have the password of a node.
func (l *attackLog) add(a attack, status int, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if strings.Contains(text, hiddenPassword) {
		l.find("the answer to %s has a password", a.name)
	}
	switch a.judge(status, text) {
	case undecided:
		l.unanswered[a.name]++
		l.last[a.name] = fmt.Sprintf("%d %.300s", status, text)
	case defended:
		l.refused[a.name]++
	case accepted:
		l.find("%s was answered with %d", a.name, status)
	}
}

// give records a token that a lookup has given out.
func (l *attackLog) give(node, token string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.given[node] = append(l.given[node], token)
}

// enough is how often an attack is made without an answer under faults. After their end it is made again.
const enough = 20

// complete reports whether idle connections were opened, and each attack was refused or made often enough. It is true
// with a finding, too, so that nobody waits for the refusal of an attack that is always accepted.
func (l *attackLog) complete() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.found) > 0 || l.idle > 0 && !slices.ContainsFunc(allAttacks(), func(a attack) bool {
		return l.refused[a.name] == 0 && l.unanswered[a.name] < enough
	})
}

// allAttacks returns all hostile requests, about no node. Requests of insiders come last.
var allAttacks = sync.OnceValue(func() []attack { return append(attacks(""), insideAttacks()...) })

// insideAttacks returns the hostile requests of insiders, about no node.
func insideAttacks() (all []attack) {
	for _, v := range victims {
		all = append(all, v.attacks("", "")...)
	}
	return all
}

// ended reports whether each of some attacks was refused, or there is a finding, which the others need not wait for.
func (l *attackLog) ended(all []attack) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.found) > 0 || !slices.ContainsFunc(all, func(a attack) bool { return l.refused[a.name] == 0 })
}

// wasRefused reports whether an attack was refused.
func (l *attackLog) wasRefused(a attack) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.refused[a.name] > 0
}

// require adds a finding if a conductor that works has not answered an attack.
func (l *attackLog) require(a attack, status int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if status == 0 {
		l.find("%s got no answer after the end of all faults", a.name)
	}
}

// requireRefused adds a finding for each attack of insiders that was never refused for its reason, unless another
// finding has ended the attacks early.
func (l *attackLog) requireRefused() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.found) > 0 {
		return
	}
	for _, a := range insideAttacks() {
		if l.refused[a.name] == 0 {
			l.find("%s was never refused; the last of %d other answers was %s", a.name, l.unanswered[a.name], l.last[a.name])
		}
	}
}

// findings returns the findings so far.
func (l *attackLog) findings() []history.Finding {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.found)
}

// tokens returns the tokens that lookups have given out, by the UUID of their nodes.
func (l *attackLog) tokens() map[string][]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.given)
}

func (l *attackLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	refused, unanswered := 0, 0
	for _, count := range l.refused {
		refused += count
	}
	for _, count := range l.unanswered {
		unanswered += count
	}
	return fmt.Sprintf("%d attacks refused, %d unanswered or answered with 500, %d idle connections", refused, unanswered, l.idle)
}
