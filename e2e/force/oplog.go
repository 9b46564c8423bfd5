// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/ironstate/ironstate/e2e/force/history"
)

// attribute matches an attribute in a line of package slog's text format.
var attribute = regexp.MustCompile(`(\w+)=("(?:[^"\\]|\\.)*"|\S*)`)

// operations returns the operations in the logs of a conductor. An operation without an
// end in the logs gets the end of the run.
func operations(dir, conductor string, end time.Time) ([]history.Operation, error) {
	files, err := filepath.Glob(filepath.Join(dir, conductor+".*.log"))
	if err != nil {
		return nil, err
	}
	var all []history.Operation
	for _, file := range files {
		if all, err = readOperations(all, file, conductor, end); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// readOperations appends the operations in a log.
func readOperations(all []history.Operation, file, conductor string, end time.Time) ([]history.Operation, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	begun := map[string]int{} // indices of the operations in flight, by node, name, revision and claim
	for lines.Scan() {
		begins := strings.Contains(lines.Text(), `msg="an operation begins"`)
		if !begins && !strings.Contains(lines.Text(), `msg="an operation has ended"`) {
			continue
		}
		o, err := parseOperation(lines.Text())
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		key := fmt.Sprint(o.Node, o.Name, o.Revision, o.Claim)
		if begins {
			begun[key] = len(all)
			o.Conductor, o.End = conductor, end
			all = append(all, o)
		} else if i, ok := begun[key]; ok {
			all[i].End = o.Begin
			delete(begun, key)
		}
	}
	return all, lines.Err()
}

// passwordsIn finds the logs of processes in a folder that have the password of the victims.
func passwordsIn(dir string) (found []history.Finding, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if i := bytes.Index(text, []byte(hiddenPassword)); i >= 0 {
			line := 1 + bytes.Count(text[:i], []byte("\n"))
			found = append(found, history.Finding{Rule: "attacks", Text: fmt.Sprintf("line %d of %s has a password", line, filepath.Base(file))})
		}
	}
	return found, nil
}

// parseOperation reads an operation from a line of a log. Its Begin is the time of the line.
func parseOperation(line string) (o history.Operation, err error) {
	values := map[string]string{}
	for _, pair := range attribute.FindAllStringSubmatch(line, -1) {
		value := pair[2]
		if strings.HasPrefix(value, `"`) {
			if value, err = strconv.Unquote(value); err != nil {
				return o, err
			}
		}
		values[pair[1]] = value
	}
	o.Node, o.Name, o.Claim = values["node"], values["operation"], values["claim"]
	if o.Revision, err = strconv.ParseInt(values["revision"], 10, 64); err != nil {
		return o, err
	}
	if o.Begin, err = time.Parse(time.RFC3339Nano, values["time"]); err != nil {
		return o, err
	}
	o.Asked, err = time.Parse(time.RFC3339Nano, values["asked"])
	return o, err
}
