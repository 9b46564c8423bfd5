// SPDX-License-Identifier: Apache-2.0

package explorer

import (
	"fmt"
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

func entry(seconds int, kind, text string) *conductor.HistoryEntry {
	return &conductor.HistoryEntry{ObjectMeta: conductor.ObjectMeta{CreatedAt: at(seconds)}, EventType: kind, Event: text}
}

// moved returns an entry of a node's transitions.
func moved(seconds int, from states.State, by states.Event, to states.State, text string) conductor.TransitionRecord {
	return conductor.TransitionRecord{Time: at(seconds), Event: by, From: from, To: to, LastError: text}
}

// line returns a stage as one line.
func line(s stage) string {
	text := s.State.String() + " " + string(s.Source) + " " + s.Text
	if s.By != nil {
		text += " | " + s.By.String()
	}
	if s.Seconds != nil {
		text += fmt.Sprintf(" for %v s", *s.Seconds)
	}
	return strings.Join(strings.Fields(text), " ")
}

func TestTimelineOf(t *testing.T) {
	changed := at(300)
	deployment := []conductor.TransitionRecord{
		moved(100, states.Available, states.EventDeploy, states.Deploying, ""),
		moved(110, states.Deploying, states.EventFail, states.DeployFail, "no ima…"),
	}
	for name, test := range map[string]struct {
		node    conductor.Node
		history []*conductor.HistoryEntry
		want    []string
	}{
		"a node that has never moved": {conductor.Node{ProvisionState: states.Enroll}, nil, []string{"enroll record"}},
		"a failure has the whole text of its history entry": {
			conductor.Node{ProvisionState: states.DeployFail, Transitions: deployment},
			[]*conductor.HistoryEntry{entry(111, "deploying", "no image")},
			[]string{
				"available before", "deploying transition | available --deploy--> deploying for 10 s",
				"deploy failed transition no image | deploying --fail--> deploy failed",
			},
		},
		"other entries are separate stages": {
			conductor.Node{ProvisionState: states.DeployFail, Transitions: deployment},
			[]*conductor.HistoryEntry{entry(50, "cleaning", "disk 3"), entry(200, "UNKNOWN", "no image")},
			[]string{
				"none history disk 3", "available before", "deploying transition | available --deploy--> deploying for 10 s",
				"deploy failed transition no ima… | deploying --fail--> deploy failed", "none history no image",
			},
		},
		"an error that stays is shown once": {
			conductor.Node{ProvisionState: states.Manageable, Transitions: []conductor.TransitionRecord{
				moved(1, states.ServiceWait, states.EventAbort, states.ServiceFail, "aborted"),
				moved(1, states.ServiceFail, states.EventAbort, states.Active, "aborted"),
			}}, nil,
			[]string{
				"service wait before", "service failed transition aborted | service wait --abort--> service failed for 0 s",
				"active transition | service failed --abort--> active", "manageable record",
			},
		},
		"a state that was stored without a transition": {
			conductor.Node{ProvisionState: states.Active, ProvisionUpdatedAt: &changed, Transitions: []conductor.TransitionRecord{
				moved(1, states.Enroll, states.EventManage, states.Verifying, ""),
				moved(2, states.Available, states.EventDeploy, states.Deploying, ""),
			}}, nil,
			[]string{
				"enroll before", "verifying transition | enroll --manage--> verifying",
				"available before", "deploying transition | available --deploy--> deploying", "active record",
			},
		},
		"two clocks": {
			conductor.Node{ProvisionState: states.Manageable, Transitions: []conductor.TransitionRecord{
				moved(5, states.Enroll, states.EventManage, states.Verifying, ""),
				moved(3, states.Verifying, states.EventDone, states.Manageable, ""),
			}}, nil,
			[]string{"manageable transition | verifying --done--> manageable", "enroll before",
				"verifying transition | enroll --manage--> verifying for 0 s"},
		},
		"an entry without a type or a text": {
			conductor.Node{ProvisionState: states.Enroll},
			[]*conductor.HistoryEntry{entry(1, "", ""), entry(2, "cleaning", "")},
			[]string{"enroll record", "none history", "none history"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			test.node.CreatedAt = created
			var got []string
			for _, s := range timelineOf(&test.node, test.history) {
				got = append(got, line(s))
			}
			require.Equal(t, test.want, got)
		})
	}
}

// FuzzExplain checks that any record has an explanation, and that the transition of each stage ends
// in that stage and is one of the record.
func FuzzExplain(f *testing.F) {
	f.Add(uint8(20), uint8(3), []byte{1, 2, 3, 4, 5, 6}, []byte{1, 2, 3})
	f.Add(uint8(0), uint8(255), []byte{200, 1, 1, 200}, []byte{9, 9})
	f.Add(uint8(0), uint8(0), []byte{}, []byte{}) // a record without a state
	f.Fuzz(func(t *testing.T, series, state uint8, visited, failures []byte) {
		table := states.Series(1 + int(series)%int(states.Latest())).Table()
		n := &conductor.Node{UUID: "u", CreatedAt: created, ProvisionState: states.State(state), LastError: "e"}
		for i := 1; i < len(visited); i++ {
			n.Transitions = append(n.Transitions, moved(i, states.State(visited[i-1]), states.Event(visited[i]), states.State(visited[i]), "e"))
		}
		var history []*conductor.HistoryEntry
		for i, b := range failures {
			history = append(history, entry(i*3, "cleaning", string(b)))
		}
		got := explain(table, n, history)
		require.NotEmpty(t, got.Why)
		require.NotEmpty(t, got.Timeline)
		require.LessOrEqual(t, len(got.Timeline), maxStages)
		for _, s := range got.Timeline {
			if s.By != nil {
				require.Equal(t, s.State, s.By.To)
				require.True(t, slices.ContainsFunc(n.Transitions, func(t conductor.TransitionRecord) bool {
					return t.From == s.By.From && t.Event == s.By.Event && t.To == s.By.To
				}))
			}
		}
	})
}
