// SPDX-License-Identifier: Apache-2.0

package lockstep

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/try"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/machine/admission"
	"github.com/ironstate/ironstate/states"
)

//go:embed admission.json
var admissionText []byte

// admissionTable has the facts and the requests of the comparisons of the rules that decide about a request besides the
// state machine.
var admissionTable = parseTable[admissions]("admission.json", admissionText)

// admissions are the contents of admission.json.
type admissions struct {
	// Record is the record of a node without facts, and Facts the fields of each fact, by the columns of Ironic's
	// database.
	Record      columns
	Facts       map[string]columns
	Comparisons []admissionComparison
	Objects     map[string]columns // the bodies of the requests that create a node's objects, by the path of their list
}

// An admissionComparison makes requests of a kind in every state, with every combination of facts.
type admissionComparison struct {
	Name         string
	Words        string   // the provision states to request: those that the table accepts or refuses; empty for Requests
	Only         []string // of the words; empty for all
	Without      []string // of the words
	Method, Path string   // with NODE and OBJECT for the UUIDs of the node and its object
	Object       string   // the list of the object that the node has; empty for none
	Accepted     int      // the status if a request is accepted
	Rule         string   // of package admission, see rules; empty to compare the two APIs alone
	Plan         bool     // also compares package plan
	With         [][]string
	Requests     []request
}

// A request is a request of a comparison, as the API gets it and as package admission does.
type request struct {
	In     states.State // the only state; none for all
	Body   any          // with NUMBER for a number that no other request has
	Update admission.Update
	Unfit  bool // Update.Unfit
	Port   admission.PortUpdate
	word   string
}

// rules decide about a request of a node with these fields.
var rules = map[string]func(admission.Rules, admission.NodeFields, request, states.APIVersion) error{
	"provision": func(r admission.Rules, f admission.NodeFields, q request, v states.APIVersion) error {
		_, err := r.Provision(f, q.word, v)
		return err
	},
	"power": func(r admission.Rules, f admission.NodeFields, _ request, _ states.APIVersion) error {
		return r.Power(f, states.PowerOn)
	},
	"deletion": func(r admission.Rules, f admission.NodeFields, _ request, _ states.APIVersion) error {
		return r.Delete(f)
	},
	"update": func(r admission.Rules, f admission.NodeFields, q request, v states.APIVersion) error {
		if err := r.Patch(f, q.Update.RemovesInstance, v); err != nil {
			return err
		}
		if q.Unfit {
			q.Update.Unfit = errors.New("no such interface")
		}
		q.Update.Maintenance = q.Update.Maintenance || f.Maintenance
		return r.Update(f, q.Update)
	},
	"port": func(r admission.Rules, f admission.NodeFields, q request, v states.APIVersion) error {
		return r.UpdatePort(f, q.Port, v)
	},
	"volume update": func(r admission.Rules, f admission.NodeFields, _ request, _ states.APIVersion) error {
		return r.UpdateVolume(f)
	},
	"volume deletion": func(r admission.Rules, f admission.NodeFields, _ request, _ states.APIVersion) error {
		return r.DeleteVolume(f)
	},
}

// trials ranges over the requests of a comparison in each situation.
func (c admissionComparison) trials(i Installation) iter.Seq2[situation, request] {
	return func(yield func(situation, request) bool) {
		for state := range i.table().States().All() {
			for _, q := range c.requestsIn(i, state) {
				for facts := range combinations(c.With) {
					if !yield(situation{i.inState(state), facts}, q) {
						return
					}
				}
			}
		}
	}
}

// requestsIn returns the requests that are made in a state.
func (c admissionComparison) requestsIn(i Installation, state states.State) (found []request) {
	for _, q := range c.Requests {
		if q.In == states.NoState || q.In == state {
			found = append(found, q)
		}
	}
	if c.Words == "" {
		return found
	}
	for _, word := range words() {
		_, err := i.table().Request(state, word, i.newest())
		if (err == nil) == (c.Words == "accepted") && (c.Only == nil || slices.Contains(c.Only, word)) && !slices.Contains(c.Without, word) {
			found = append(found, request{Body: i.bodyFor(word), word: word})
		}
	}
	return found
}

// combinations ranges over the choices of one item of each list, without the empty ones.
func combinations(lists [][]string) iter.Seq[[]string] {
	return func(yield func([]string) bool) {
		if len(lists) == 0 {
			yield(nil)
			return
		}
		for first := range combinations(lists[:len(lists)-1]) {
			for _, last := range lists[len(lists)-1] {
				chosen := first[:len(first):len(first)]
				if last != "" {
					chosen = append(chosen, last)
				}
				if !yield(chosen) {
					return
				}
			}
		}
	}
}

// A situation is the part of a node's record that decides about a request: its state, and facts.
type situation struct {
	at    machine.Node
	facts []string
}

func (s situation) String() string {
	return strings.Join(append([]string{fmt.Sprintf("in %v, target %v", s.at.State, s.at.Target)}, s.facts...), ", ")
}

// record returns the situation as fields by the columns of Ironic's database.
func (s situation) record() columns {
	record := maps.Clone(admissionTable.Record)
	for _, fact := range s.facts {
		maps.Copy(record, admissionTable.Facts[fact])
	}
	return record
}

// columns returns the situation as columns of Ironic's database.
func (s situation) columns() columns {
	set := columnsOf(s.at)
	maps.Copy(set, s.record())
	info, _ := json.Marshal(set["instance_info"]) // it was JSON
	set["instance_info"] = string(info)
	return set
}

// node returns the situation as a node of ironstate.
func (s situation) node() *conductor.Node {
	record := s.record()
	n := &conductor.Node{}
	into(n, record)
	n.Driver, n.Claim, n.Interfaces = "fake-hardware", n.Reservation, map[string]string{}
	n.ProvisionState, n.TargetProvisionState, n.LastError = s.at.State, s.at.Target, s.at.LastError
	for name, value := range record {
		if kind, is := strings.CutSuffix(name, "_interface"); is {
			n.Interfaces[kind] = value.(string)
		}
	}
	return n
}

// objectOf returns the object of a list as ironstate has it, without a node; nil without a list.
func objectOf(list string) (o conductor.Object) {
	switch list {
	case "":
		return nil
	case "ports":
		o = &conductor.Port{}
	default:
		o = &conductor.VolumeConnector{}
	}
	into(o, admissionTable.Objects[list])
	return o
}

// into decodes columns into a record.
func into(record any, from columns) { try.OK(json.Unmarshal(try.Get(json.Marshal(from)), record)) }

// lockAtOnce makes Ironic answer that a node is locked without a retry.
var lockAtOnce = Options{Config: "[conductor]\nnode_locked_retry_attempts = 1\n"}

// compareAdmission returns the comparisons of admissionTable. They need an Ironic with the option lockAtOnce.
func compareAdmission() (compares []compare) {
	for _, c := range admissionTable.Comparisons {
		compares = append(compares, named(c.title(), c.compare))
	}
	return compares
}
