// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/etcd/internal/keyprefix"
)

// layout returns the names of etcd's keys, see the package documentation.
type layout struct{ prefix string }

// newLayout returns the layout with the prefix of a configuration; empty stands for the default.
func newLayout(prefix string) (layout, error) {
	return layout{cmp.Or(prefix, keyprefix.Default)}, keyprefix.Check("etcd", prefix)
}

func (l layout) records(kind conductor.Kind) string {
	return l.prefix + "/v1/records/" + string(kind) + "/"
}

func (l layout) record(kind conductor.Kind, id string) string { return l.records(kind) + id }

func (l layout) key(kind conductor.Kind, key string) string {
	return l.prefix + "/v1/keys/" + string(kind) + "/" + key
}

// format is the version of the header that a value begins with.
const format = 1

// header is the first line of a value.
type header struct {
	Format int      `json:"format"`
	Keys   []string `json:"keys,omitempty"`
}

// maxKeys keeps a write within etcd's limit of 128 operations per transaction.
const maxKeys = 48

// check returns an error if a record cannot be stored.
func check(r conductor.Record) error {
	if err := checkKind(r.Kind); err != nil {
		return err
	}
	if r.ID == "" {
		return errors.New("the record has no ID")
	}
	if len(r.Keys) > maxKeys {
		return fmt.Errorf("the record has %d keys, the maximum is %d", len(r.Keys), maxKeys)
	}
	for _, key := range r.Keys {
		if key == "" || !utf8.ValidString(key) {
			return fmt.Errorf("%q is not a key: want a non-empty UTF-8 text", key)
		}
	}
	return nil
}

func checkKind(kind conductor.Kind) error {
	if kind == "" || strings.Contains(string(kind), "/") {
		return fmt.Errorf("%q is not a kind of records: want a non-empty text without a slash", kind)
	}
	return nil
}

// encode returns etcd's value for a record: a line with the header, followed by the record's value.
func encode(r conductor.Record) (string, error) {
	var b bytes.Buffer
	b.Grow(len(r.Value) + 64)
	lines := json.NewEncoder(&b)
	lines.SetEscapeHTML(false)
	if err := lines.Encode(header{format, r.Keys}); err != nil {
		return "", err
	}
	b.Write(r.Value)
	return b.String(), nil
}

// decode returns the record of an etcd key and value.
func (l layout) decode(kind conductor.Kind, kv *mvccpb.KeyValue) (conductor.Record, error) {
	var h header
	line, value, _ := bytes.Cut(kv.Value, []byte{'\n'})
	if err := json.Unmarshal(line, &h); err != nil {
		return conductor.Record{}, fmt.Errorf("decode %s: %w: %w", kv.Key, errFormat, err)
	}
	if h.Format != format {
		return conductor.Record{}, fmt.Errorf("decode %s: %w: its format is %d, the highest known is %d", kv.Key, errFormat, h.Format, format)
	}
	return conductor.Record{
		Kind:     kind,
		ID:       l.id(kind, kv),
		Keys:     h.Keys,
		Revision: kv.ModRevision,
		Value:    value,
	}, nil
}

// id returns the ID in the etcd key of a record.
func (l layout) id(kind conductor.Kind, kv *mvccpb.KeyValue) string {
	return strings.TrimPrefix(string(kv.Key), l.records(kind))
}
