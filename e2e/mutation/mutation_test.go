// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/needs"
)

func TestListedMutantsExistAndHaveAReason(t *testing.T) {
	all, err := findAll("../..", targets)
	require.NoError(t, err)
	reasons, err := equivalents(all)
	require.NoError(t, err)
	for name, reason := range reasons {
		require.NotEmpty(t, reason, name)
	}
}

func TestTheSampleOfACommitIsFixedAndBeginsWithItsFiles(t *testing.T) {
	var all []mutant
	for i := range 100 {
		all = append(all, mutant{file: fmt.Sprintf("p/%d.go", i/10), decl: fmt.Sprint(i)})
	}
	got := choose("commit", []string{"README.md", "p/3.go"}, 5, all)
	require.Len(t, got, 10)
	for i, m := range got {
		require.Equal(t, i < 5, m.file == "p/3.go", m)
	}
	require.Equal(t, got, choose("commit", []string{"README.md", "p/3.go"}, 5, all))
	require.NotEqual(t, got, choose("another", []string{"README.md", "p/3.go"}, 5, all))
	require.Len(t, choose("commit", []string{"p/3.go"}, 20, all), 30, "a file has ten")
}

// module creates a module of one package and returns its folder.
func module(t *testing.T, code, test string) string {
	t.Setenv("GOWORK", "off")
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":      "module example.com/m\n\ngo 1.23\n",
		"p/p.go":      code,
		"p/p_test.go": test,
	} {
		name = filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
	}
	return root
}

func TestMutantsAreTried(t *testing.T) {
	needs.Time(t)
	root := module(t, `package p

const most = 10

func First(n int) int {
	for i := 0; i < most; i++ {
		if i == n || n < 0 && i > 3 {
			return i
		}
	}
	return most
}

func Unused(a, b string) string {
	joined := a + b
	return joined
}

func Deferred() (n int, text string) {
	defer func() { n++; text = "deferred" }()
	return n - 1 + 1, text
}

func Panics(do func()) (yes bool) {
	defer func() {
		if recover() != nil {
			yes = true
		}
	}()
	do()
	return false
}
`, `package p

import "testing"

func TestFirst(t *testing.T) {
	if First(3) != 3 || First(20) != 10 || First(-1) != 4 {
		t.Fatal("wrong")
	}
}

func TestDeferred(t *testing.T) {
	if n, text := Deferred(); n != 1 || text != "deferred" {
		t.Fatal("wrong")
	}
}

func TestPanics(t *testing.T) {
	if !Panics(func() { panic("here") }) || Panics(func() {}) {
		t.Fatal("wrong")
	}
}
`)
	p := []target{of("p")}
	all, err := findAll(root, p)
	require.NoError(t, err)
	lab, err := newLab(t.Context(), root, p, 2)
	require.NoError(t, err)
	defer lab.close()

	got := map[string]outcome{}
	require.NoError(t, lab.tryAll(t.Context(), all, 2, func(m mutant, o outcome) { got[m.String()] = o }))
	want := map[string]outcome{
		"i < most => i <= most": lived,
		"i < most => i >= most": killed,
		"i++ => i--":            timedOut,
		"i == n => i != n":      killed,
		"i == n || n < 0 && i > 3 => i == n && n < 0 && i > 3": killed,
		"n < 0 && i > 3 => n < 0 || i > 3":                     killed,
		"n < 0 => n <= 0":                                      lived,
		"n < 0 => n >= 0":                                      killed,
		"i > 3 => i >= 3":                                      killed,
		"i > 3 => i <= 3":                                      killed,
	}
	for name, o := range want {
		require.Equal(t, o, got["p/p.go First: "+name], name)
	}
	require.Equal(t, unviable, got["p/p.go Unused: a + b => a - b"])
	require.Equal(t, killed, got[`p/p.go Deferred: text = "deferred" => removed`])
	require.Equal(t, killed, got["p/p.go Deferred: n++ => removed"])
	require.Equal(t, killed, got["p/p.go Deferred: n++ => n--"])
	require.Equal(t, killed, got["p/p.go Panics: recover() != nil => recover() == nil"])
	require.Equal(t, killed, got["p/p.go Deferred: n - 1 => n + 1"])
	require.Len(t, got, len(all))
}

// The mutant takes longer than the tests of a mutant may at first.
func TestAListedMutantThatTimesOutIsTriedAgain(t *testing.T) {
	needs.Time(t)
	root := module(t, `package p

import "time"

func Waits(n int) {
	if n > 3 {
		time.Sleep(8 * time.Second)
	}
}
`, `package p

import "testing"

func TestWaits(t *testing.T) { Waits(3) }
`)
	p := []target{of("p")}
	all, err := findAll(root, p)
	require.NoError(t, err)
	lab, err := newLab(t.Context(), root, p, 1)
	require.NoError(t, err)
	defer lab.close()
	slow := "p/p.go Waits: n > 3 => n >= 3"
	for _, test := range []struct {
		listed map[string]string
		want   outcome
	}{{nil, timedOut}, {map[string]string{slow: "a reason"}, lived}} {
		got := map[string]outcome{}
		only := slices.DeleteFunc(slices.Clone(all), func(m mutant) bool { return m.String() != slow })
		require.NoError(t, lab.tryListed(t.Context(), only, 1, test.listed, func(m mutant, o outcome) { got[m.String()] = o }))
		require.Equal(t, map[string]outcome{slow: test.want}, got)
	}
}

func TestTestsThatFailWithoutAMutantAreAnError(t *testing.T) {
	root := module(t, "package p\n", `package p

import "testing"

func TestNever(t *testing.T) { t.Fatal("never passes") }
`)
	_, err := newLab(t.Context(), root, []target{of("p")}, 1)
	require.ErrorContains(t, err, "the tests of p without a mutant: TestNever:")
	require.ErrorContains(t, err, "never passes")
}

func TestTheReportIsAnErrorIfOutcomesContradictTheList(t *testing.T) {
	m := mutant{file: "machine/m.go", decl: "f", was: "a", is: "b", nth: 1}
	for _, test := range []struct {
		outcome outcome
		listed  bool
		want    error
	}{
		{killed, false, nil},
		{timedOut, false, nil},
		{unviable, false, nil},
		{lived, true, nil},
		{uncovered, true, nil},
		{lived, false, errLived},
		{uncovered, false, errLived},
		{killed, true, errOutOfDate},
		{timedOut, true, errOutOfDate},
		{unviable, true, errOutOfDate},
	} {
		var out strings.Builder
		r := &report{out: &out, listed: map[string]string{}, counts: map[string]map[outcome]int{}}
		if test.listed {
			r.listed[m.String()] = "a reason"
		}
		r.add(m, test.outcome)
		err := r.end()
		require.Equal(t, test.want != nil, strings.Contains(out.String(), m.String()), out.String())
		if test.want == nil {
			require.NoError(t, err)
			continue
		}
		require.ErrorIs(t, err, test.want)
	}
}
