// SPDX-License-Identifier: Apache-2.0

package main

import (
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const code = `package p

import "sync"

const room = 4 * 2

type list[T any] struct {
	mu   sync.Mutex
	kept []T
}

func (l *list[T]) add(v T, force bool) (ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.kept) >= room && !force {
		return false
	}
	l.kept = append(l.kept, v)
	return true
}

func count(from, to int, until func(int) bool) (n int, text string) {
	for i := from; i < to; i++ {
		switch {
		case until(i):
			break
		case i%2 == 0:
			continue
		}
		n += 1
	}
	return -n, "n" + text
}
`

func names(all []mutant) []string {
	names := make([]string, len(all))
	for i, m := range all {
		names[i] = m.String()
	}
	return names
}

func TestEveryOperatorConditionAndStatementIsChanged(t *testing.T) {
	found, err := findInFile("p/p.go", []byte(code))
	require.NoError(t, err)
	require.Equal(t, []string{
		`p/p.go room: 4 * 2 => 4 / 2`,
		`p/p.go list.add: l.mu.Lock() => removed`,
		`p/p.go list.add: defer l.mu.Unlock() => removed`,
		`p/p.go list.add: len(l.kept) >= room => len(l.kept) > room`,
		`p/p.go list.add: len(l.kept) >= room => len(l.kept) < room`,
		`p/p.go list.add: len(l.kept) >= room && !force => len(l.kept) >= room || !force`,
		`p/p.go list.add: !force => force`,
		`p/p.go list.add: l.kept = append(l.kept, v) => removed`,
		`p/p.go count: i < to => i <= to`,
		`p/p.go count: i < to => i >= to`,
		`p/p.go count: i++ => i--`,
		`p/p.go count: until(i) => !until(i)`,
		`p/p.go count: break => continue`,
		`p/p.go count: i%2 => i*2`,
		`p/p.go count: i%2 == 0 => i%2 != 0`,
		`p/p.go count: continue => break`,
		`p/p.go count: n += 1 => removed`,
		`p/p.go count: n += 1 => n -= 1`,
		`p/p.go count: -n => n`,
	}, names(found))
	for _, m := range found {
		_, err := parser.ParseFile(token.NewFileSet(), "", m.apply([]byte(code)), 0)
		require.NoError(t, err, m)
	}
}

func TestNamesStayWhenOtherCodeChanges(t *testing.T) {
	before, err := findInFile("p/p.go", []byte(code))
	require.NoError(t, err)
	shifted := strings.Replace(code, "type list", "// A comment.\nvar other = 1 - 1\n\ntype list", 1)
	after, err := findInFile("p/p.go", []byte(shifted))
	require.NoError(t, err)
	require.Equal(t, names(before), slices.DeleteFunc(names(after), func(name string) bool {
		return name == "p/p.go other: 1 - 1 => 1 + 1"
	}))
}

func TestEqualChangesOfAFunctionAreNumbered(t *testing.T) {
	found, err := findInFile("p/p.go", []byte("package p\nfunc f(a, b int) bool { _ = a == b; return a == b }"))
	require.NoError(t, err)
	require.Equal(t, []string{"p/p.go f: a == b => a != b", "p/p.go f: a == b => a != b #2"}, names(found))
}

func TestNamesAreOneLineAndNotLong(t *testing.T) {
	all, err := findAll("../..", targets)
	require.NoError(t, err)
	for _, m := range all {
		require.NotContains(t, m.String(), "\n")
		require.Less(t, len(m.String()), 400)
	}
}
