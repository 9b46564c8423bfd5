package explorer

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
)

var created = time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)

// at returns the time some seconds after the creation of the node's record.
func at(seconds int) time.Time { return created.Add(time.Duration(seconds) * time.Second) }

func entry(seconds int, kind, text string) *conductor.Object {
	return &conductor.Object{
		Kind: conductor.KindHistory, CreatedAt: at(seconds), Fields: map[string]any{"event_type": kind, "event": text},
	}
}

// line returns a stage as one line.
func line(s stage) string {
	text := s.State.String() + " " + string(s.Source) + " " + s.Text
	for _, t := range s.Through {
		text += " | " + t.Event.String() + " " + t.To.String()
	}
	return strings.Join(strings.Fields(text), " ")
}

func TestTimelineOf(t *testing.T) {
	moves := []move{
		{pair{states.Available, states.Deploying}, "u", "n", at(100)},
		{pair{states.Deploying, states.DeployFail}, "u", "n", at(110)},
	}
	for name, test := range map[string]struct {
		now     states.State
		history []*conductor.Object
		moves   []move
		want    []string
	}{
		"an observed failure has the text of its history entry": {
			states.DeployFail, []*conductor.Object{entry(111, "deploying", "no image")}, moves,
			[]string{
				"enroll begin", "available watch | manage verifying | done manageable | provide cleaning | done available",
				"deploying watch | deploy deploying", "deploy failed watch no image | fail deploy failed",
			},
		},
		"an unobserved failure is a separate stage": {
			states.DeployFail, []*conductor.Object{entry(50, "cleaning", "disk 3")}, moves,
			[]string{
				"enroll begin", "cleaning history | manage verifying | done manageable | provide cleaning", "clean failed history disk 3 | fail clean failed",
				"available watch | manage manageable | provide cleaning | done available",
				"deploying watch | deploy deploying", "deploy failed watch | fail deploy failed",
			},
		},
		"equal consecutive states are one stage": {
			states.Manageable, []*conductor.Object{entry(50, "verify", "no route")}, []move{{pair{states.Enroll, states.Manageable}, "u", "n", at(60)}},
			[]string{
				"enroll begin", "verifying history | manage verifying", "enroll history no route | fail enroll",
				"manageable watch | manage verifying | done manageable",
			},
		},
		"the state after a failed rescue is unknown": {
			states.Active, []*conductor.Object{entry(50, "rescue", "no agent")}, nil,
			[]string{
				"enroll begin", "none history no agent",
				"active record | manage verifying | done manageable | adopt adopting | done active",
			},
		},
		"an entry without a type or a text": {
			states.Enroll, []*conductor.Object{{CreatedAt: at(1)}, {CreatedAt: at(2), Fields: map[string]any{"event": 7, "event_type": true}}}, nil,
			[]string{"enroll begin", "none history", "enroll record"},
		},
		"a state that the series lacks": {
			states.State(200), nil, []move{{pair{states.State(201), states.Manageable}, "u", "n", at(5)}},
			[]string{"enroll begin", "State(201) watch", "manageable watch", "State(200) record"},
		},
		"a gap between two moves": {
			states.Active, nil, []move{
				{pair{states.Enroll, states.Manageable}, "u", "n", at(5)}, {pair{states.Available, states.Active}, "u", "n", at(9)},
			},
			[]string{
				"enroll begin", "manageable watch | manage verifying | done manageable",
				"available watch | provide cleaning | done available", "active watch | deploy deploying | done active",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := &conductor.Node{CreatedAt: created, ProvisionState: test.now}
			var got []string
			for _, s := range timelineOf(states.Latest().Table(), n, test.history, test.moves) {
				got = append(got, line(s))
			}
			require.Equal(t, test.want, got)
		})
	}
}

// FuzzExplain checks that any record has an explanation, and that the transitions of each stage are
// in the table and end in that stage.
func FuzzExplain(f *testing.F) {
	f.Add(uint8(20), uint8(3), []byte{1, 2, 3, 4, 5, 6}, []byte{1, 2, 3})
	f.Add(uint8(0), uint8(255), []byte{200, 1, 1, 200}, []byte{9, 9})
	f.Fuzz(func(t *testing.T, series, state uint8, visited, failures []byte) {
		table := states.Series(1 + int(series)%int(states.Latest())).Table()
		n := &conductor.Node{UUID: "u", CreatedAt: created, ProvisionState: states.State(state), LastError: "e"}
		var moves []move
		for i := 1; i < len(visited); i++ {
			moves = append(moves, move{pair{states.State(visited[i-1]), states.State(visited[i])}, "u", "", at(i)})
		}
		kinds := slices.Sorted(maps.Keys(workOf))
		var history []*conductor.Object
		for i, b := range failures {
			history = append(history, entry(i*3, kinds[int(b)%len(kinds)], "e"))
		}
		got := explain(table, n, history, moves)
		require.NotEmpty(t, got.Why)
		require.NotEmpty(t, got.Timeline)
		require.LessOrEqual(t, len(got.Timeline), maxStages)
		for _, s := range got.Timeline {
			for _, row := range s.Through {
				to, ok := table.Next(row.From, row.Event)
				require.True(t, ok)
				require.Equal(t, to, row.To)
			}
			if len(s.Through) > 0 {
				require.Equal(t, s.State, s.Through[len(s.Through)-1].To)
			}
		}
	})
}
