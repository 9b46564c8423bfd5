// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"io"
	"log/slog"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/cmd/ironstate/internal/observe"
	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/program"
)

// otherFlags are the flags of a kind of store without backups, whose servers have lost their majority.
type otherFlags struct{ url string }

func (f *otherFlags) define(flags *flag.FlagSet) { flags.StringVar(&f.url, "other", "", "") }
func (*otherFlags) sharing() []string            { return []string{"other"} }
func (f *otherFlags) chosen(storeSettings) bool  { return f.url != "" }
func (f *otherFlags) place(storeSettings) string { return "at " + f.url }
func (*otherFlags) check(storeSettings) error    { return nil }

func (*otherFlags) open(context.Context, storeSettings, *slog.Logger) (*openedStore, error) {
	return &openedStore{
		Store: &conductor.Memory{}, kind: "other", health: func() observe.Readiness { return observe.NoMajority },
		close: func() error { return nil },
	}, nil
}

// folderFlags are the flags of a kind of store without backups in the folder -data.
type folderFlags struct{ otherFlags }

func (*folderFlags) chosen(s storeSettings) bool { return s.data != "" }

func TestAKindOfStoreHasFlagsAndAReadinessOfItsOwn(t *testing.T) {
	before := storeKinds
	defer func() { storeKinds = before }()
	storeKinds = append(before[:len(before):len(before)], func() storeKind { return &otherFlags{} })

	s := serveHere(t, "-other", "http://a:1", "-lease", "5s")
	require.Zero(t, s.series("conductor_ready"))
	_, list := s.do(http.MethodGet, "/v1/nodes", "")
	require.Empty(t, list["nodes"], "no example enters a store of others")
	answer, err := s.client.Get(s.url + "/v1/nodes")
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, `110 ironstate "other has no majority: this answer may be out of date"`, answer.Header.Get("Warning"))

	refused := func(text string, args ...string) {
		_, err := parse(args, io.Discard)
		require.ErrorIs(t, err, program.ErrUsage)
		require.ErrorContains(t, err, text)
	}
	for text, args := range map[string][]string{
		"-lease needs -etcd or -cluster or -other":                            {"-lease", "5s"},
		`-other is "": want a value`:                                          {"-other", ""},
		"-backup needs -data or -etcd or -cluster or -other: nodes in memory": {"-backup", "y"},
		"-backup and -restore: the store has no backups":                      {"-other", "x", "-backup", "y"},
		"name 2: in y and at x":                                               {"-other", "x", "-data", "y"},
		"name 2: at http://a:1 and at x":                                      {"-other", "x", "-etcd", "http://a:1"},
	} {
		refused(text, args...)
	}
	storeKinds = []func() storeKind{func() storeKind { return &folderFlags{} }}
	refused("-backup and -restore: the store has no backups", "-data", "x", "-restore", "y")
}
