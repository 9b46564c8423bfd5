package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/ironstate/ironstate/internal/program"
	"github.com/ironstate/ironstate/internal/program/programtest"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/powersync/storetest"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
	"github.com/ironstate/ironstate/verify/secret"
)

func TestMain(m *testing.M) {
	if !programtest.Main(main) {
		goleak.VerifyTestMain(m)
	}
}

func output(t *testing.T, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), append(args, "-interval", "1ms"), &out, io.Discard))
	return out.String()
}

// A notice is a line of the output.
type notice struct {
	ID      int64
	Event   string
	Payload struct {
		Previous  states.State `json:"previous_provision_state"`
		State     states.State `json:"provision_state"`
		From      states.Power `json:"from_power"`
		Power     states.Power `json:"power_state"`
		LastError string       `json:"last_error"`
	}
}

func notices(t *testing.T, output string) (list []notice) {
	t.Helper()
	for line := range strings.Lines(output) {
		var n notice
		require.NoError(t, json.Unmarshal([]byte(line), &n), "%q", line)
		list = append(list, n)
	}
	return list
}

func TestTheREADMEShowsTheOutput(t *testing.T) { programtest.CheckREADME(t, output(t)) }

func TestTheProgramIsAsShortAsTheREADMESays(t *testing.T) {
	lines := 0
	for _, file := range []string{"main.go", "store.go"} {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		lines += bytes.Count(text, []byte("\n"))
	}
	require.Less(t, lines, 250)
}

func TestTheProgramEndsWellWhateverEndsIt(t *testing.T) {
	programtest.CheckEnds(t, "-rounds", "1000000", "-interval", "1ms")
}

func openStore(t *testing.T, file string) store {
	t.Helper()
	s, err := open(t.Context(), file)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// fleet is a store of several nodes, which storetest needs for its check.
type fleet struct{ store }

func (f fleet) Records(ctx context.Context) iter.Seq2[powersync.Record, error] {
	return func(yield func(powersync.Record, error) bool) {
		var text string
		if err := f.QueryRowContext(ctx, `SELECT json_group_array(name) FROM nodes`).Scan(&text); err != nil {
			yield(powersync.Record{}, err)
			return
		}
		var names []string
		_ = json.Unmarshal([]byte(text), &names)
		for _, name := range names {
			if !yield(f.Load(ctx, name)) {
				return
			}
		}
	}
}

func TestTheRowIsAStore(t *testing.T) {
	require.NoError(t, storetest.Check(func(records ...powersync.Record) (powersync.Store, error) {
		s := openStore(t, ":memory:")
		tx, err := s.Begin()
		require.NoError(t, err)
		_, err = tx.Exec(`DELETE FROM nodes`)
		require.NoError(t, err)
		for _, r := range records {
			record, err := json.Marshal(r)
			require.NoError(t, err)
			_, err = tx.Exec(`INSERT INTO nodes (name, record) VALUES (?, ?)`, r.ID, string(record))
			require.NoError(t, err)
		}
		return fleet{s}, tx.Commit()
	}))
	s := openStore(t, ":memory:")
	for r, err := range s.Records(t.Context()) {
		require.NoError(t, err)
		require.Equal(t, powersync.Record{ID: node, ProvisionState: states.Enroll}, r)
	}
}

func TestAWrongPasswordEndsInEnrollAndInAnError(t *testing.T) {
	server, err := bmctest.NewRedfish(bmctest.RedfishConfig{})
	require.NoError(t, err)
	defer server.Close()
	file := filepath.Join(t.TempDir(), "node.db")
	opened, err := open(t.Context(), file)
	require.NoError(t, err)
	var out bytes.Buffer
	s := service{store: opened, out: &out, bmc: bmc.Config{Host: server.Host, RedfishPort: server.Port,
		RootCAs: server.CertPool, User: bmctest.DefaultUser, Password: secret.New("wrong-secret")}}
	require.ErrorIs(t, s.enroll(t.Context()), verify.Credentials)
	require.NoError(t, opened.Close())
	list := notices(t, out.String())
	require.Len(t, list, 2)
	require.Equal(t, "provision_set.error", list[1].Event)
	require.Equal(t, states.Enroll, list[1].Payload.State)
	require.Contains(t, list[1].Payload.LastError, "credentials refused")
	require.NotContains(t, out.String(), "wrong-secret")
	require.Equal(t, states.Enroll, stored(t, file).State)

	output(t, "-db", file, "-rounds", "0") // has the right one
	require.Equal(t, machine.Node{State: states.Manageable}, stored(t, file))
}

func stored(t *testing.T, file string) (n machine.Node) {
	t.Helper()
	s, err := open(t.Context(), file)
	require.NoError(t, err)
	defer s.Close()
	_, err = s.load(t.Context(), node, &n)
	require.NoError(t, err)
	return n
}

// An earlier process was killed during the verification, before it had written a notice.
func TestTheNextProcessContinuesAfterAKillDuringVerification(t *testing.T) {
	file := filepath.Join(t.TempDir(), "node.db")
	s, err := open(t.Context(), file)
	require.NoError(t, err)
	table := states.Latest().Table()
	m, err := machine.New(machine.Config{Table: table, Node: machine.Node{State: states.Enroll}, Name: node, Token: new(int64), Save: []machine.Hook{s.save}})
	require.NoError(t, err)
	require.NoError(t, m.Fire(t.Context(), states.EventManage))
	require.NoError(t, s.Close())

	list := notices(t, output(t, "-db", file, "-rounds", "0"))
	require.Len(t, list, 4)
	for i, want := range []states.State{states.Verifying, states.Enroll, states.Verifying, states.Manageable} {
		require.Equal(t, want, list[i].Payload.State)
		require.EqualValues(t, i+1, list[i].ID)
	}
	require.NotEmpty(t, list[1].Payload.LastError)
}

// broken is a receiver whose writes fail.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestUndeliveredNoticesAreKept(t *testing.T) {
	s := openStore(t, ":memory:")
	require.NoError(t, s.save(t.Context(), machine.Transition{Token: new(int64), Node: node, From: machine.Node{State: states.Enroll}, To: machine.Node{State: states.Verifying}}))
	require.ErrorIs(t, s.deliver(t.Context(), broken{}), io.ErrClosedPipe)
	var out bytes.Buffer
	require.NoError(t, s.deliver(t.Context(), &out))
	require.Len(t, notices(t, out.String()), 1)
	out.Reset()
	require.NoError(t, s.deliver(t.Context(), &out))
	require.Empty(t, out.String())
}

func TestARowThatSomebodyElseHasMovedIsNotWrittenOver(t *testing.T) {
	s := openStore(t, ":memory:")
	old := int64(-1)
	err := s.save(t.Context(), machine.Transition{Token: &old, Node: node, From: machine.Node{State: states.Verifying}, To: machine.Node{State: states.Manageable}})
	require.ErrorIs(t, err, powersync.ErrConflict)
	r, err := s.Load(t.Context(), node)
	require.NoError(t, err)
	require.Equal(t, states.Enroll, r.ProvisionState)
	_, err = s.Load(t.Context(), "node-2")
	require.ErrorIs(t, err, powersync.ErrNotFound)
}

func TestUnusableFilesAndFlagsAreReported(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "notes.txt")
	require.NoError(t, os.WriteFile(text, bytes.Repeat([]byte("no database\n"), 100), 0o600))
	for _, file := range []string{dir, filepath.Join(dir, "no", "node.db"), text} {
		require.ErrorContains(t, run(t.Context(), []string{"-db", file}, io.Discard, io.Discard), file)
	}
	for args, want := range map[string]string{
		"-rounds x":         `invalid value "x" for flag -rounds: parse error`,
		"node.db":           `unexpected argument "node.db": want flags alone, see -h`,
		"-bmc 10.0.0.1":     "configure: misconfigured: the user is empty",
		"-bmc a/b -user me": "is not a name or an address",
	} {
		err := run(t.Context(), strings.Fields(args), io.Discard, io.Discard)
		require.ErrorIs(t, err, program.ErrUsage)
		require.ErrorContains(t, err, want)
	}
}

func TestOneProcessHasTheRow(t *testing.T) {
	file := filepath.Join(t.TempDir(), "node?50%#1.db")
	openStore(t, file)
	require.ErrorContains(t, run(t.Context(), []string{"-db", file}, io.Discard, io.Discard), "database is locked")
}

// The power sync has written the row since the machine's node was read from it.
func TestASaveHookDoesNotOverwriteARowThatThePowerSyncHasChanged(t *testing.T) {
	s, err := open(t.Context(), filepath.Join(t.TempDir(), "node.db"))
	require.NoError(t, err)
	defer s.Close()
	var read machine.Node
	revision, err := s.load(t.Context(), node, &read)
	require.NoError(t, err)
	table := states.Latest().Table()
	m, err := machine.New(machine.Config{Table: table, Node: read, Name: node, Token: &revision, Save: []machine.Hook{s.save}})
	require.NoError(t, err)

	r, err := s.Load(t.Context(), node)
	require.NoError(t, err)
	r.Power = states.PowerOff
	require.NoError(t, s.Update(t.Context(), r))

	err = m.Request(t.Context(), "manage", 113)
	require.ErrorIs(t, err, powersync.ErrConflict)
	require.False(t, machine.Moved(err))
	again, err := s.load(t.Context(), node, &read)
	require.NoError(t, err)
	require.NoError(t, m.SetNode(t.Context(), read, &again))
	require.NoError(t, m.Request(t.Context(), "manage", 113))
	require.NoError(t, m.Report(t.Context(), states.EventDone, ""), "the hook has counted the revision up")
	r, err = s.Load(t.Context(), node)
	require.NoError(t, err)
	require.Equal(t, states.Manageable, r.ProvisionState)
	require.Equal(t, states.PowerOff, r.Power)
}
