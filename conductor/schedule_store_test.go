// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/promises"
)

// scheduleRecords is the content of the store of one schedule. The revision of a record counts its writes, so that it
// is the same in all schedules in which the record has the same history. The explorer alone and one call at a time
// use it.
type scheduleRecords struct {
	kinds   map[conductor.Kind]map[string]conductor.Record
	texts   map[string]string           // their canonical texts, by kind, ID and revision
	writes  map[string]int64            // of each record, also after its deletion
	first   map[string]conductor.Record // the first versions, for a store that returns the past
	watches []*scheduleWatch
}

// scheduleWatch is a watch of a process, with the changes that it has not yielded yet.
type scheduleWatch struct {
	by     *scheduleProcess
	kind   conductor.Kind
	queue  []conductor.Change
	lags   bool // it yields nothing for a time
	skips  bool // it leaves the next change out
	next   chan conductor.Change
	broken chan struct{}
}

func (s *scheduleRecords) of(kind conductor.Kind) []conductor.Record {
	return slices.SortedFunc(maps.Values(s.kinds[kind]), func(a, b conductor.Record) int { return strings.Compare(a.ID, b.ID) })
}

func (s *scheduleRecords) find(kind conductor.Kind, key string) (conductor.Record, bool) {
	if r, ok := s.kinds[kind][key]; ok {
		return r, true
	}
	for _, r := range s.kinds[kind] {
		if slices.Contains(r.Keys, key) {
			return r, true
		}
	}
	return conductor.Record{}, false
}

// put stores a record or, if deleted, removes it, and queues the change for the watches.
func (s *scheduleRecords) put(r conductor.Record, deleted bool) (int64, error) {
	for _, key := range r.Keys {
		if other, ok := s.find(r.Kind, key); ok && other.ID != r.ID {
			return 0, &conductor.DuplicateError{Kind: r.Kind, Key: key}
		}
	}
	id := string(r.Kind) + "/" + r.ID
	s.writes[id]++
	r.Revision = s.writes[id]
	if _, has := s.first[id]; !has {
		s.first[id] = r
	}
	change := conductor.Change{Record: r}
	if s.kinds[r.Kind] == nil {
		s.kinds[r.Kind] = map[string]conductor.Record{}
	}
	if deleted {
		change = conductor.Change{Record: conductor.Record{Kind: r.Kind, ID: r.ID, Revision: r.Revision}, Deleted: true}
		delete(s.kinds[r.Kind], r.ID)
	} else {
		s.kinds[r.Kind][r.ID] = r
	}
	for _, w := range s.watches {
		if w.kind == r.Kind {
			w.queue = append(w.queue, change)
		}
	}
	return r.Revision, nil
}

// scheduleStore is the store as one process of a schedule sees it. Each call waits until the explorer lets it go,
// unless its kind has no points.
type scheduleStore struct{ *scheduleProcess }

func (s scheduleStore) Get(ctx context.Context, kind conductor.Kind, key string) (r conductor.Record, err error) {
	err = s.call(ctx, &scheduleCall{name: "read " + s.nameOf(kind, key), object: string(kind), kind: kind, do: func() (string, error) {
		var ok bool
		if r, ok = s.records.find(kind, key); !ok {
			return "", conductor.NotFound
		}
		return s.text(r), nil
	}, past: func() (string, error) {
		current, _ := s.records.find(kind, key)
		r = s.records.first[string(kind)+"/"+current.ID]
		return s.text(r), nil
	}})
	return r, err
}

func (s scheduleStore) List(ctx context.Context, kind conductor.Kind, after string, limit int) (page []conductor.Record, err error) {
	err = s.call(ctx, &scheduleCall{name: "list " + string(kind), object: string(kind), kind: kind, do: func() (string, error) {
		for _, r := range s.records.of(kind) {
			if r.ID > after && len(page) < limit {
				page = append(page, r)
			}
		}
		return fmt.Sprint(len(page)), nil
	}})
	return page, err
}

func (s scheduleStore) Create(ctx context.Context, r conductor.Record) (revision int64, err error) {
	s.know(r.Kind, r.ID)
	err = s.call(ctx, s.write("create", r, func() (string, error) {
		if _, exists := s.records.find(r.Kind, r.ID); exists {
			return "", &conductor.DuplicateError{Kind: r.Kind, Key: r.ID}
		}
		revision, err = s.records.put(r, false)
		return "", err
	}))
	return revision, err
}

func (s scheduleStore) Update(ctx context.Context, r conductor.Record) (revision int64, err error) {
	err = s.call(ctx, s.write("write", r, func() (string, error) {
		before, err := s.current(r)
		if err != nil {
			return "", err
		}
		if revision, err = s.records.put(r, false); err == nil && r.Kind == conductor.KindNode {
			s.stored(s.name, before, r, revision)
		}
		return "", err
	}))
	return revision, err
}

func (s scheduleStore) Delete(ctx context.Context, kind conductor.Kind, id string, revision int64) (deletion int64, err error) {
	r := conductor.Record{Kind: kind, ID: id, Revision: revision}
	err = s.call(ctx, s.write("delete", r, func() (string, error) {
		before, err := s.current(r)
		if err != nil {
			return "", err
		}
		if kind == conductor.KindNode {
			s.deleted(s.name, before)
		}
		deletion, err = s.records.put(r, true)
		return "", err
	}))
	return deletion, err
}

// current returns the stored version of a record that is written, or an error unless its writer has read that version.
func (s scheduleStore) current(r conductor.Record) (conductor.Record, error) {
	before, ok := s.records.find(r.Kind, r.ID)
	switch {
	case !ok:
		return before, conductor.NotFound
	case before.Revision != r.Revision && !s.broken.unchecked:
		return before, conductor.ErrConflict
	default:
		return before, nil
	}
}

// write returns the call of a write, which may be done without an answer.
func (s scheduleStore) write(verb string, r conductor.Record, do func() (string, error)) *scheduleCall {
	name := verb + " " + s.nameOf(r.Kind, r.ID) + s.content(r)
	return &scheduleCall{name: name, object: string(r.Kind), kind: r.Kind, argument: r, writes: true, do: do}
}

// Watch yields each change in its order. The records that exist when it begins are changes, too.
func (s scheduleStore) Watch(ctx context.Context, kind conductor.Kind) iter.Seq2[conductor.Change, error] {
	return func(yield func(conductor.Change, error) bool) {
		w := &scheduleWatch{by: s.scheduleProcess, kind: kind, next: make(chan conductor.Change), broken: make(chan struct{})}
		err := s.call(ctx, &scheduleCall{name: "watch " + string(kind), object: string(kind), kind: kind, do: func() (string, error) {
			for _, r := range s.records.of(kind) {
				w.queue = append(w.queue, conductor.Change{Record: r})
			}
			w.queue = append(w.queue, conductor.Change{Synced: true})
			s.records.watches = append(s.records.watches, w)
			return "", nil
		}})
		if err != nil {
			yield(conductor.Change{}, err)
			return
		}
		for {
			select {
			case change := <-w.next:
				if !yield(change, nil) {
					return
				}
			case <-w.broken:
				yield(conductor.Change{}, errCut)
				return
			case <-ctx.Done():
				return
			case <-s.closed:
				return
			}
		}
	}
}

// know gives a random UUID a name by its kind and the number of records that the process has made.
func (s *scheduleRun) know(kind conductor.Kind, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.names[id] == "" && pointed(kind) {
		s.named[kind]++
		s.names[id] = fmt.Sprint(strings.TrimSuffix(string(kind), "s"), " ", s.named[kind])
	}
}

// nameOf returns the name of a record for people.
func (s *scheduleRun) nameOf(kind conductor.Kind, id string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return cmp.Or(s.names[id], string(kind)+" "+id)
}

// content says for people what a node's record says.
func (s *scheduleRun) content(r conductor.Record) string {
	if r.Kind != conductor.KindNode || len(r.Value) == 0 {
		return ""
	}
	n, err := promises.Decode(r.Value)
	if err != nil {
		return ""
	}
	text := fmt.Sprintf(" %d: %v", r.Revision, n.State)
	if n.Reservation != "" {
		text += " of " + n.Reservation
	}
	return text
}

var (
	scheduleUUID  = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	scheduleToken = regexp.MustCompile(`"token":"[^"]{43}"`)
	scheduleTime  = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z?|"\d{15,16},`)
)

// canonical returns the text of a record in which UUIDs have their names, and times their order: two schedules that
// differ in the order of independent calls have the same texts.
func (s *scheduleRun) canonical(r conductor.Record) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := scheduleUUID.ReplaceAllStringFunc(string(r.Value), func(id string) string { return cmp.Or(s.names[id], "?") })
	text = scheduleToken.ReplaceAllString(text, `"token":"a token"`)
	times := map[string]int64{}
	for _, match := range scheduleTime.FindAllString(text, -1) {
		times[match] = scheduleMicros(match)
	}
	order := slices.Compact(slices.Sorted(maps.Values(times)))
	text = scheduleTime.ReplaceAllStringFunc(text, func(match string) string {
		at, _ := slices.BinarySearch(order, times[match])
		return "t" + strconv.Itoa(at)
	})
	return fmt.Sprint(r.Kind, s.names[r.ID], r.Keys != nil, r.Revision, text)
}

// text returns the canonical text of a stored record.
func (s *scheduleRun) text(r conductor.Record) string {
	version := fmt.Sprint(r.Kind, r.ID, r.Revision)
	if s.records.texts[version] == "" {
		s.records.texts[version] = s.canonical(r)
	}
	return s.records.texts[version]
}

// scheduleMicros returns a time of a record in microseconds.
func scheduleMicros(text string) int64 {
	if micros, ok := strings.CutPrefix(text, `"`); ok {
		at, _ := strconv.ParseInt(strings.TrimSuffix(micros, ","), 10, 64)
		return at
	}
	at, _ := time.Parse("2006-01-02T15:04:05.999999999Z07:00", text)
	return at.UnixMicro()
}

// scheduleNode is the UUID of the node of a schedule, which alpha owns while it is a member, and beta if not.
var scheduleNode = func() string {
	for i := range 100 {
		id := fmt.Sprintf("00000000-0000-4000-8000-%012x", i)
		if owners := scheduleOwners(id); owners[0] == "alpha" && owners[1] == "beta" {
			return id
		}
	}
	panic("no such UUID")
}()

// scheduleOwners returns the conductors in the order in which they own a node.
func scheduleOwners(id string) (names []string) {
	members := []conductor.Member{{Hostname: "alpha"}, {Hostname: "beta"}, {Hostname: "gamma"}}
	for len(members) > 0 {
		owner := conductor.OwnerOf(members, id)
		names = append(names, owner)
		members = slices.DeleteFunc(members, func(m conductor.Member) bool { return m.Hostname == owner })
	}
	return names
}
