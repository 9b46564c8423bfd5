// SPDX-License-Identifier: Apache-2.0

// Package clocks finds the clocks that could decide about a test of the gate. It has tests alone.
package clocks

import (
	_ "embed"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// support has the packages that only tests use.
var support = []string{
	"conductor/agent/agenttest", "conductor/conductortest", "conductor/etcd/internal/etcdtest", "conductor/hardware/machinetest",
	"conductor/hardwaretest", "conductor/storetest", "internal/browsertest", "internal/bubble", "internal/exchanges",
	"internal/freeport", "internal/heaptest", "internal/leaks", "internal/program/programtest", "internal/schedules", "powersync/storetest",
	"states/statestest", "verify/bmc/bmctest",
}

//go:embed testdata/clocks.txt
var permissions string

// permission permits the clocks of functions. Both the file and the function may be a pattern of path.Match.
type permission struct {
	line           int
	file, function string
	used           bool
}

// parse returns the permissions of a text. A line has a file, a function and a reason.
func parse(text string) (all []*permission, err error) {
	for i, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Fields(line)
		if len(fields) < 3 {
			return nil, fmt.Errorf("line %d: %q has not a file, a function and a reason", i+1, line)
		}
		all = append(all, &permission{line: i + 1, file: fields[0], function: fields[1]})
	}
	return all, nil
}

func (p *permission) permits(c clock) bool {
	inFile, _ := path.Match(p.file, c.file)
	inFunction, _ := path.Match(p.function, c.function)
	return inFile && inFunction
}

// problems returns the clocks that no permission has, and the permissions that no clock needs.
func problems(files fs.FS, permissions string, support ...string) (all []string, err error) {
	list, err := parse(permissions)
	if err != nil {
		return nil, err
	}
	found, err := clocks(files, support...)
	if err != nil {
		return nil, err
	}
	for _, c := range found {
		permitted := false
		for _, p := range list {
			if p.permits(c) {
				permitted, p.used = true, true
			}
		}
		if !permitted {
			all = append(all, c.String())
		}
	}
	for _, p := range list {
		if !p.used {
			all = append(all, fmt.Sprintf("clocks.txt:%d: %s %s permits nothing any more: remove the line", p.line, p.file, p.function))
		}
	}
	return all, nil
}

// A test of the gate is certain: no clock decides about it. A clock is permitted in a bubble, in a test that
// needs.Time, needs.Programs or needs.Chance leaves out, and by testdata/clocks.txt.
func TestNoClockDecidesAboutATestOfTheGate(t *testing.T) {
	here, err := os.Getwd()
	require.NoError(t, err)
	// The path leads through this module, since go test repeats the result of a test if no file in its module has changed.
	root := os.DirFS(filepath.Join(here, "../..") + "/..")
	for _, folder := range support {
		_, err := fs.Stat(root, folder)
		require.NoError(t, err)
	}
	found, err := problems(root, permissions, support...)
	require.NoError(t, err)
	require.Empty(t, strings.Join(found, "\n"), "needs.Time and needs.Chance leave a test that must have a clock out of the gate")
}

func TestClocksAreFound(t *testing.T) {
	for name, test := range map[string]struct {
		code    string   // of a test file of package a
		list    string   // the permissions
		support string   // the package that only tests use
		want    []string // parts of the problems
	}{
		"each clock": {code: `
			func TestA(t *testing.T) {
				require.Eventually(t, nil, 1, 1)
				require.Never(t, nil, 1, 1)
				ctx, cancel := context.WithTimeout(t.Context(), 1)
				ctx, cancel = context.WithDeadline(ctx, time.Now())
				time.Sleep(1); <-time.After(1); <-time.Tick(1); time.NewTimer(1); time.NewTicker(1); time.AfterFunc(1, cancel)
				c := &http.Client{Timeout: 1}
				conn.SetDeadline(time.Now())
				if time.Now().After(time.Time{}) { c = &http.Client{} }
			}`, want: []string{
			"TestA calls Eventually; instead: wait on a channel or a watch, with t.Context() and no limit of its own",
			"TestA calls Never; instead: synctest.Wait in a bubble, or wait for an event after which it cannot happen",
			"TestA calls context.WithTimeout; instead: t.Context(), or a cancel on the event that the test is about",
			"TestA calls context.WithDeadline",
			"TestA calls time.Sleep; instead: a channel, or a bubble of testing/synctest",
			"TestA calls time.After", "TestA calls time.Tick", "TestA calls time.NewTimer", "TestA calls time.NewTicker",
			"TestA calls time.AfterFunc",
			"TestA calls http.Client.Timeout; instead: the limit of go test alone", "TestA calls SetDeadline",
		}},
		"a bubble": {code: `
			func TestA(t *testing.T) {
				time.Sleep(1)
				synctest.Test(t, func(t *testing.T) { time.Sleep(2); go func() { time.Sleep(3) }() })
			}`, want: []string{"a_test.go:4: TestA calls time.Sleep"}},
		"a function that starts a bubble": {code: `
			func bubble(t *testing.T, test func()) { synctest.Test(t, func(*testing.T) { test() }) }
			func each(t *testing.T, test func()) { for range 2 { bubble(t, test) } }
			func TestA(t *testing.T) { each(t, func() { time.Sleep(1) }) }
			func other(t *testing.T, test func()) { test(); synctest.Test(t, func(*testing.T) {}) }
			func TestB(t *testing.T) { other(t, func() { time.Sleep(2) }) }`, want: []string{"TestB calls time.Sleep"}},
		"guards": {code: `
			func TestA(t *testing.T) { needs.Time(t); time.Sleep(1) }
			func TestB(t *testing.T) { time.Sleep(2); needs.Chance(t); time.Sleep(3) }
			func TestC(t *testing.T) { if cond { needs.Programs(t, "p"); time.Sleep(4) }; time.Sleep(5) }
			func TestD(t *testing.T) {
				t.Run("slow", func(t *testing.T) { needs.Time(t); time.Sleep(6) })
				t.Run("quick", func(t *testing.T) { time.Sleep(7) })
			}
			func open(t *testing.T) int { needs.Time(t); return 1 }
			func openAgain(t *testing.T) int { return open(t) }
			func TestE(t *testing.T) { x := openAgain(t); time.Sleep(8); helper(x) }
			func helper(int) { time.Sleep(9) }
			func TestF(t *testing.T) { f := func() { needs.Time(t) }; time.Sleep(10); f() }`,
			want: []string{"a_test.go:4: TestB calls", "a_test.go:5: TestC calls", "TestD calls", "TestF calls"}},
		"helpers": {code: `
			func TestA(t *testing.T) { synctest.Test(t, func(t *testing.T) { inBubble(); both(); recursive() }) }
			func TestB(t *testing.T) { both(); needs.Time(t); inBubble() }
			func TestC(t *testing.T) { synctest.Test(t, passed) }
			func inBubble() { time.Sleep(1); deeper() }
			func deeper() { time.Sleep(2) }
			func recursive() { recursive(); time.Sleep(3) }
			func passed(*testing.T) { time.Sleep(4) }
			func both() { time.Sleep(5) }
			func unused() { time.Sleep(6) }
			var value = func() { time.Sleep(7) }
			func TestD(t *testing.T) { value() }
			func init() { time.Sleep(8) }`,
			want: []string{"both calls", "unused calls", "value calls", "init calls"}},
		"doubles": {code: `
			type slow struct{}
			var _ io.Reader = (*slow)(nil)
			func (s *slow) Read(p []byte) (int, error) { time.Sleep(1); s = &slow{}; return 0, nil }
			type outer struct { in slow; on func() }
			func newOuter() *outer { return &outer{on: func() { time.Sleep(2) }} }
			func TestA(t *testing.T) { synctest.Test(t, func(t *testing.T) { io.ReadAll(newOuter()) }) }
			type mixed struct{}
			func (m mixed) Read(p []byte) (int, error) { time.Sleep(3); return 0, nil }
			func (m mixed) wait() { time.Sleep(4) }
			func TestB(t *testing.T) { io.ReadAll(mixed{}); synctest.Test(t, func(t *testing.T) { mixed{}.wait() }) }
			func TestC(t *testing.T) { takes(func(s *slow) {}) }`,
			want: []string{"mixed.Read calls"}},
		"the kinds of tests": {code: `
			func BenchmarkA(b *testing.B) { time.Sleep(1); ofBenchmarks() }
			func ofBenchmarks() { time.Sleep(2) }
			func FuzzA(f *testing.F) { time.Sleep(3) }
			func ExampleA() {
				time.Sleep(4)
				// Output: text
			}
			func ExampleB() { time.Sleep(5) /* prints something */ }`, want: []string{"FuzzA calls", "ExampleA calls"}},
		"packages of support": {code: `
			import "github.com/ironstate/ironstate/support"
			func TestA(t *testing.T) { synctest.Test(t, func(t *testing.T) { support.InBubbles() }) }
			func TestB(t *testing.T) { support.Anywhere(); support.Open(t); time.Sleep(1) }
			func TestC(t *testing.T) { support.Bubble(t, func() { time.Sleep(2) }) }`, support: "support",
			want: []string{"Anywhere calls time.Sleep"}},
		"permissions": {code: `
			func TestA(t *testing.T) { time.Sleep(1); time.After(1) }
			func TestB(t *testing.T) { time.Sleep(2) }
			func TestC(t *testing.T) { time.Sleep(3) }`,
			list: "# comment\n\na/a_test.go TestA a reason\na/*.go TestB a reason\na/b_test.go * a reason\na/a_test.go TestD a reason",
			want: []string{"TestC calls", "clocks.txt:5: a/b_test.go * permits nothing", "clocks.txt:6: a/a_test.go TestD permits nothing"}},
		"a permission for a file": {code: "func TestA(t *testing.T) { time.Sleep(1) }", list: "a/a_test.go * a reason"},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := problems(fstest.MapFS{
				"a/a_test.go":          {Data: []byte("package a\n" + test.code)},
				"a/a.go":               {Data: []byte("package a; func product() { time.Sleep(1) }")},
				"a/testdata/b_test.go": {Data: []byte("no Go")},
				"support/support.go": {Data: []byte(`package support
					func InBubbles() { time.Sleep(1) }
					func Anywhere() { time.Sleep(1) }
					func Open(t testing.TB) { needs.Time(t); time.Sleep(1) }
					func Bubble(t *testing.T, test func()) { synctest.Test(t, func(*testing.T) { test() }) }
				`)},
			}, test.list, test.support)
			require.NoError(t, err)
			require.Len(t, found, len(test.want), "%q", found)
			for i, want := range test.want {
				require.Contains(t, found[i], want)
			}
		})
	}
	_, err := problems(fstest.MapFS{}, "a/a_test.go TestA")
	require.ErrorContains(t, err, `line 1: "a/a_test.go TestA" has not a file, a function and a reason`)
	_, err = problems(fstest.MapFS{"a_test.go": {Data: []byte("no Go")}}, "")
	require.Error(t, err)
}
