// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// writeTexts commits the texts of a release in the clone: CHANGELOG.md dates the section of the version, and the
// Markdown files lose the texts that hold until the first release. Without a change there is no commit. The commit is
// its own, since the release commit is reverted.
func writeTexts(ctx context.Context, dir, version string, today time.Time) error {
	listed, err := command(ctx, dir, nil, "git", "ls-files", "*.md")
	if err != nil {
		return err
	}
	names := strings.Fields(listed)
	if !slices.Contains(names, "CHANGELOG.md") {
		return errors.New("there is no CHANGELOG.md")
	}
	var failures []error
	for _, name := range names {
		file := filepath.Join(dir, name)
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		before := bytes.Clone(text)
		if name == "CHANGELOG.md" {
			text, err = dated(text, strings.TrimPrefix(version, "v"), today)
		}
		if err == nil {
			text, err = releasedText(text)
		}
		if err != nil {
			failures = append(failures, fmt.Errorf("%s%w", name, err))
		} else if !bytes.Equal(text, before) {
			failures = append(failures, os.WriteFile(file, text, 0o644))
		}
	}
	if err := errors.Join(failures...); err != nil {
		return err
	}
	changed, err := command(ctx, dir, nil, "git", "status", "--porcelain")
	if err != nil || changed == "" {
		return err
	}
	_, err = command(ctx, dir, nil, "git", "commit", "--quiet", "--all", "--message", "The texts of "+version)
	return err
}

var date = regexp.MustCompile(`^\d{4}-\d\d-\d\d$`)

// dated returns a changelog in which the section of the version, which has to be the first one, has a date: the given
// one, if the section says that the version is not released.
func dated(changelog []byte, version string, today time.Time) ([]byte, error) {
	lines := bytes.SplitAfter(changelog, []byte("\n"))
	first := slices.IndexFunc(lines, func(line []byte) bool { return bytes.HasPrefix(line, []byte("## ")) })
	if first < 0 {
		return nil, errors.New(": there is no section")
	}
	section := strings.TrimSpace(string(lines[first]))
	name, note, _ := strings.Cut(strings.TrimPrefix(section, "## "), " (")
	note = strings.TrimSuffix(note, ")")
	switch {
	case name != version:
		return nil, fmt.Errorf(": the first section is %q, want the section of %s", section, version)
	case note == "not released yet":
		lines[first] = fmt.Appendf(nil, "## %s (%s)\n", version, today.Format(time.DateOnly))
	case !date.MatchString(note):
		return nil, fmt.Errorf(": the section %q has no date, want %q", section, fmt.Sprintf("## %s (%s)", version, today.Format(time.DateOnly)))
	}
	return bytes.Join(lines, nil), nil
}

// The marks around a text that holds until the first release.
const (
	untilRelease = "<!-- until the first release -->"
	fromRelease  = "<!-- from then on -->"
)

var saysUnreleased = regexp.MustCompile(`(?i)\b(unreleased|not released|nothing is released)\b|until the first release`)

// releasedText returns a text without the parts that hold until the first release. The error begins with the line that
// is wrong.
func releasedText(text []byte) ([]byte, error) {
	for {
		before, rest, marked := bytes.Cut(text, []byte(untilRelease))
		if !marked {
			break
		}
		_, after, ended := bytes.Cut(rest, []byte(fromRelease))
		if !ended {
			return nil, fmt.Errorf(":%d: the text after %q has no end", 1+bytes.Count(before, []byte("\n")), untilRelease)
		}
		if len(before) == 0 || bytes.HasSuffix(before, []byte("\n")) { // the marked text has lines of its own
			after = bytes.TrimLeft(after, "\n")
		}
		text = slices.Concat(before, after)
	}
	if at := saysUnreleased.FindIndex(text); at != nil {
		return nil, fmt.Errorf(":%d: %q cannot be said of a release", 1+bytes.Count(text[:at[0]], []byte("\n")), text[at[0]:at[1]])
	}
	return text, nil
}
