package main

import (
	"bufio"
	"bytes"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/ironstate/ironstate/internal/program"
	"github.com/ironstate/ironstate/internal/program/programtest"
	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/powersync/storetest"
	"github.com/ironstate/ironstate/states"
)

func TestMain(m *testing.M) {
	if !programtest.Main(main) {
		goleak.VerifyTestMain(m)
	}
}

func open(t *testing.T, file string) *Store {
	t.Helper()
	s, err := Open(file)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func TestTheDatabaseIsAStore(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, storetest.Check(func(records ...powersync.Record) (powersync.Store, error) {
		file, err := os.CreateTemp(dir, "*.db")
		require.NoError(t, err)
		require.NoError(t, file.Close())
		s := open(t, file.Name())
		return s, s.Add(t.Context(), records...)
	}))
}

func TestFilesMayHaveAnyName(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a fleet?50%#1.db")
	require.NoError(t, open(t, file).Add(t.Context(), fleet(1)...))
	require.FileExists(t, file)
	_, err := Open(filepath.Join(t.TempDir(), "no", "such", "folder"))
	require.Error(t, err)
}

func TestTheProgramDoesItsRounds(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), []string{"-nodes", "50", "-rounds", "2"}, &out, io.Discard))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Len(t, lines, 3)
	require.Equal(t, "0 old reservations dropped", lines[0])
	require.Regexp(t, `^sync round: 50 nodes in .*: \d+ equal, \d+ forced$`, lines[2])
}

func TestTheREADMEShowsTheOutput(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), nil, &out, io.Discard))
	programtest.CheckREADME(t, out.String())
}

func TestTheProgramEndsWellWhateverEndsIt(t *testing.T) {
	programtest.CheckEnds(t, "-nodes", "200", "-rounds", "1000000")
}

func TestWrongUsageIsReported(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	for args, want := range map[string]string{
		"-nodes -5":      "-nodes is -5: want 1 to 1000000",
		"-nodes 0":       "-nodes is 0: want 1 to 1000000",
		"-nodes 2000000": "-nodes is 2000000: want 1 to 1000000",
		"-rounds 0":      "-rounds is 0: want 1 to 1000000",
		"-nodes 1e3":     `invalid value "1e3" for flag -nodes: parse error`,
		"-file x":        "flag provided but not defined: -file",
		"fleet.db":       `unexpected argument "fleet.db": want flags alone, see -h`,
	} {
		err := run(t.Context(), strings.Fields(args), io.Discard, io.Discard)
		require.ErrorIs(t, err, program.ErrUsage)
		require.EqualError(t, err, want)
	}
	left, err := os.ReadDir(os.Getenv("TMPDIR"))
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestAnUnusableDatabaseIsReported(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "notes.txt")
	require.NoError(t, os.WriteFile(text, bytes.Repeat([]byte("no database\n"), 100), 0o600))
	for _, file := range []string{dir, filepath.Join(dir, "no", "fleet.db"), text, "/dev/full"} {
		err := run(t.Context(), []string{"-db", file}, io.Discard, io.Discard)
		require.ErrorContains(t, err, file)
		require.NotErrorIs(t, err, program.ErrUsage)
	}
}

const (
	kills     = 24
	fleetSize = 300
)

// TestNoKillLosesOrDoublesARecord kills the program with SIGKILL at random
// moments: at its start, while it fills the database, while it does rounds.
func TestNoKillLosesOrDoublesARecord(t *testing.T) {
	file := filepath.Join(t.TempDir(), "fleet.db")
	revisions := map[string]int64{}
	held := 0
	for i := range kills {
		killSoon(t, file, i%3 > 0)
		held += checkFleet(t, open(t, file), revisions)
	}
	t.Logf("%d kills, %d nodes were held", kills, held)
	require.Len(t, revisions, fleetSize)

	var out bytes.Buffer
	require.NoError(t, run(t.Context(), []string{"-db", file, "-nodes", "300", "-rounds", "1"}, &out, io.Discard))
	require.Zero(t, checkFleet(t, open(t, file), revisions), "held after a restart")
}

// killSoon starts the program and kills it after a random time, counted from the start
// or, with inRounds, from the first round.
func killSoon(t *testing.T, file string, inRounds bool) {
	t.Helper()
	program := programtest.Command("-db", file, "-nodes", "300", "-rounds", "1000000")
	program.Stderr = os.Stderr
	out, err := program.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, program.Start())
	lines := bufio.NewReader(out)
	if inRounds {
		_, err := lines.ReadString('\n')
		require.NoError(t, err)
	}
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		_, _ = io.Copy(io.Discard, lines)
	}()
	time.Sleep(rand.N(200 * time.Millisecond))
	require.NoError(t, program.Process.Kill())
	<-drained
	require.Error(t, program.Wait(), "it was killed")
}

// checkFleet compares the records of a killed program with those of the previous one,
// and returns how many nodes are reserved.
func checkFleet(t *testing.T, s *Store, revisions map[string]int64) (held int) {
	t.Helper()
	var integrity string
	require.NoError(t, s.db.QueryRow("PRAGMA integrity_check").Scan(&integrity))
	require.Equal(t, "ok", integrity)

	seen := map[string]bool{}
	for r, err := range s.Records(t.Context()) {
		require.NoError(t, err)
		require.False(t, seen[r.ID], "%s is there twice", r.ID)
		seen[r.ID] = true
		if before, known := revisions[r.ID]; known {
			require.GreaterOrEqual(t, r.Revision, before, "a change of %s is lost", r.ID)
		}
		revisions[r.ID] = r.Revision

		want := powersync.Record{ID: r.ID, ProvisionState: states.Active, Power: states.PowerOn, Revision: r.Revision}
		if r.Reservation != "" {
			held++
			want.Reservation, want.TargetPower = name, states.PowerOn
		}
		want.LastError = r.LastError
		require.Equal(t, want, r, "half written")
	}
	if len(revisions) > 0 {
		require.Len(t, seen, fleetSize)
	}
	return held
}
