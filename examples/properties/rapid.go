package main

import (
	"flag"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// checks is how many walks rapid draws. Most have a few steps, and the bug needs four.
const checks = 10_000

// report is rapid's report on a property. It replaces a test's *testing.T, because this
// is a program.
type report struct {
	rapid.TB
	lines  []string
	failed bool
}

// checkProperty checks a property with rapid, on walks that a seed determines.
func checkProperty(seed uint64, property func(*rapid.T)) *report {
	testing.Init() // rapid is configured by flags, and reads those of package testing
	if !flag.Parsed() {
		_ = flag.CommandLine.Parse(nil) // cannot fail: there are no arguments
	}
	for name, value := range map[string]string{
		"rapid.seed":       strconv.FormatUint(seed, 10),
		"rapid.checks":     strconv.Itoa(checks),
		"rapid.nofailfile": strconv.FormatBool(true),
	} {
		before := flag.Lookup(name).Value.String()
		_ = flag.Set(name, value) // the value has the flag's type
		defer flag.Set(name, before)
	}
	r := new(report)
	rapid.Check(r, property)
	return r
}

// The methods of [rapid.TB] that rapid calls if no test is skipped.

func (r *report) Helper()                           {}
func (r *report) Name() string                      { return "TestRestartsChangeNothing" }
func (r *report) Failed() bool                      { return r.failed }
func (r *report) Fail()                             { r.failed = true }
func (r *report) FailNow()                          { r.Fail() }
func (r *report) Log(args ...any)                   { r.add(fmt.Sprintln(args...)) }
func (r *report) Logf(format string, args ...any)   { r.add(fmt.Sprintf(format, args...)) }
func (r *report) Error(args ...any)                 { r.Log(args...); r.Fail() }
func (r *report) Errorf(format string, args ...any) { r.Logf(format, args...); r.Fail() }
func (r *report) Fatal(args ...any)                 { r.Error(args...) }
func (r *report) Fatalf(format string, args ...any) { r.Errorf(format, args...) }

func (r *report) add(text string) {
	r.lines = append(r.lines, strings.Split(strings.TrimSpace(text), "\n")...)
}
