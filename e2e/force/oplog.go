// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/ironstate/ironstate/e2e/force/history"
	"github.com/ironstate/ironstate/internal/try"
)

// record is the record of a log that tells of an operation on fake-hardware; see fake.go of cmd/ironstate.
type record struct {
	Time, Asked            time.Time
	Node, Operation, Claim string
	Revision               int64
}

// The messages of the records.
const (
	operationBegins = "an operation begins"
	operationEnds   = "an operation has ended"
)

// operation identifies an operation in flight.
type operation struct {
	node, name, claim string
	revision          int64
}

// operations returns the operations in the logs of a conductor. An operation without an
// end in the logs gets the end of the run.
func operations(dir, conductor string, end time.Time) (all []history.Operation) {
	for _, file := range try.Get(filepath.Glob(filepath.Join(dir, conductor+".*.log"))) {
		all = append(all, try.Get(readOperations(file, conductor, end))...)
	}
	return all
}

// readOperations returns the operations in a log of a conductor.
func readOperations(file, conductor string, end time.Time) (found []history.Operation, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	begun := map[operation]int{} // indices of the operations in flight
	lines := bufio.NewScanner(f)
	for lines.Buffer(nil, 1<<20); lines.Scan(); {
		if !bytes.HasPrefix(lines.Bytes(), []byte("{")) {
			continue // it is of no record, such as a panic
		}
		var kind struct{ Msg string }
		if err := json.Unmarshal(lines.Bytes(), &kind); err != nil {
			err = fmt.Errorf("%s: %w: %s", file, err, lines.Bytes())
			if !lines.Scan() {
				break // the conductor was killed while it wrote the last line
			}
			return nil, err
		}
		if kind.Msg != operationBegins && kind.Msg != operationEnds {
			continue
		}
		var r record
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return nil, fmt.Errorf("%s: %w: %s", file, err, lines.Bytes())
		}
		if r.Asked.IsZero() {
			return nil, fmt.Errorf("%s: an operation lacks the time at which it was asked for: %s", file, lines.Bytes())
		}
		key := operation{r.Node, r.Operation, r.Claim, r.Revision}
		if i, ok := begun[key]; ok && kind.Msg == operationEnds {
			found[i].End = r.Time
			delete(begun, key)
		}
		if kind.Msg == operationBegins {
			begun[key] = len(found)
			found = append(found, history.Operation{
				Conductor: conductor, Node: r.Node, Name: r.Operation, Revision: r.Revision, Claim: r.Claim,
				Asked: r.Asked, Begin: r.Time, End: end,
			})
		}
	}
	return found, lines.Err()
}

// passwordsIn finds the logs of processes in a folder that have the password of the victims.
func passwordsIn(dir string) (found []history.Finding) {
	for _, file := range try.Get(filepath.Glob(filepath.Join(dir, "*.log"))) {
		text := try.Get(os.ReadFile(file))
		if i := bytes.Index(text, []byte(hiddenPassword)); i >= 0 {
			line := 1 + bytes.Count(text[:i], []byte("\n"))
			found = append(found, history.Finding{Rule: "attacks", Text: fmt.Sprintf("line %d of %s has a password", line, filepath.Base(file))})
		}
	}
	return found
}
