// SPDX-License-Identifier: Apache-2.0

package bmc

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/verify/bmc/internal/redfish"
)

// registryBytes bounds the body of a BIOS attribute registry, which describes some thousand
// attributes. It replaces Config.MaxAnswerBytes if that is less.
const registryBytes = 8 << 20

// registry reads the attribute registry with an ID, in English (DSP0266, "Registries"). Without one it returns no
// entries. These match, in this order:
//
//  1. the first file whose Id or Registry is the ID
//  2. the first attribute registry whose own Id is the ID, perhaps in another spelling
//  3. the only attribute registry whose file names the BIOS
//
// gofish does not decode the registry, because it has 0 for each limit that is not there, and the registry may have
// more values than the guard lets through.
func (r *reader) registry(id string) map[string]registered {
	if id == "" {
		return nil
	}
	files, _ := r.client.Members(r.ctx, r.root.link("Registries")) // those that can be found

	// The one that is probably meant comes first.
	slices.SortStableFunc(files, func(a, b string) int {
		return strings.Compare(strings.TrimPrefix(path.Base(a), id), strings.TrimPrefix(path.Base(b), id))
	})
	var others []registryFile
	for _, at := range files {
		file, ok := r.registryFile(at)
		switch {
		case !ok:
		case file.id == id || file.registry == id:
			_, entries := r.entries(file.from, file.link)
			return entries
		case strings.Contains(file.id+file.registry, "AttributeRegistry"):
			others = append(others, file)
		}
	}
	var bios []map[string]registered
	for _, file := range others {
		known, entries := r.entries(file.from, file.link)
		if normalizedID(known) == normalizedID(id) {
			return entries
		}
		if entries != nil && strings.Contains(strings.ToLower(file.id+" "+file.registry), "bios") {
			bios = append(bios, entries)
		}
	}
	if len(bios) == 1 {
		return bios[0]
	}
	return nil
}

// registryFile is the file of a registry: its ID, the name of the registry, and the link to the registry in English.
type registryFile struct{ id, registry, from, link string }

// registryFile reads the file of a registry. ok is false if it cannot be read or has no link in English.
func (r *reader) registryFile(at string) (file registryFile, ok bool) {
	if r.over() != nil {
		return file, false
	}
	found, a, err := r.client.Get(r.ctx, at)
	if err != nil {
		return file, false
	}
	file.from, file.id, file.registry = a.Request.Path, found.Text("Id"), found.Text("Registry")
	var locations []struct{ Language, Uri string }
	if found.Get("Location", &locations) != nil {
		return file, false
	}
	for _, l := range locations {
		if l.Uri != "" && (l.Language == "" || strings.HasPrefix(strings.ToLower(l.Language), "en")) {
			file.link = l.Uri
			return file, true
		}
	}
	return file, false
}

// normalizedID returns the ID of a registry without what BMCs spell differently: BiosAttributeRegistry.v1_0_0 is
// BiosAttributeRegistry.1.0.0.
func normalizedID(id string) string {
	return strings.NewReplacer(".v", "", "_", "", ".", "").Replace(strings.ToLower(id))
}

// registered is a registry's entry for a BIOS setting.
type registered struct {
	BIOSSetting
	displayed  []string // as AllowableValues, as they are displayed
	readOnlyBy []string // the settings by whose values the setting is read-only or not
}

// settingOf returns the setting with a value. If that is the displayed word of an allowable value, and not the value's
// name, the words are the allowable values: the names in Supermicro's registries are numbers, which their BIOS settings
// never have.
func (r registered) settingOf(value any) BIOSSetting {
	text, _ := value.(string)
	if !slices.Contains(r.AllowableValues, text) && slices.Contains(r.displayed, text) {
		r.AllowableValues = r.displayed
	}
	return r.BIOSSetting
}

// entries reads a registry at a link of the registry file, and its ID.
func (r *reader) entries(from, link string) (id string, entries map[string]registered) {
	at, err := r.client.Follow(from, link)
	if err != nil || r.over() != nil {
		return "", nil
	}
	a, err := r.client.Do(r.ctx, redfish.Request{Method: http.MethodGet, Path: at, Limit: registryBytes})
	if err != nil {
		return "", nil
	}
	var list registryJSON
	var mistyped *json.UnmarshalTypeError // a value of a wrong type stays zero
	if err := json.Unmarshal(a.Body, &list); err != nil && !errors.As(err, &mistyped) {
		return "", nil
	}
	id, _ = list.ID.(string)
	return id, list.settings()
}

// registryJSON is the part of an attribute registry that is read (DSP8010).
type registryJSON struct {
	ID              any `json:"Id"`
	RegistryEntries struct {
		Attributes []struct {
			AttributeName, Type                             string
			LowerBound, UpperBound, MinLength, MaxLength    optional[int64]
			ReadOnly, ResetRequired, IsSystemUniqueProperty optional[bool]
			Value                                           []struct{ ValueName, ValueDisplayName string }
		}
		Dependencies []struct {
			Dependency struct {
				MapToAttribute, MapToProperty string
				MapFrom                       []struct{ MapFromAttribute string }
			}
		}
	}
}

// settings returns the registry's entries by the name of their settings.
func (list *registryJSON) settings() map[string]registered {
	entries := make(map[string]registered)
	for _, of := range list.RegistryEntries.Attributes {
		s := registered{BIOSSetting: BIOSSetting{
			AttributeType: of.Type, LowerBound: of.LowerBound.value, UpperBound: of.UpperBound.value,
			MinLength: of.MinLength.value, MaxLength: of.MaxLength.value,
			ReadOnly: of.ReadOnly.value, ResetRequired: of.ResetRequired.value, Unique: of.IsSystemUniqueProperty.value,
		}}
		for _, v := range of.Value {
			if text := cmp.Or(v.ValueName, v.ValueDisplayName); text != "" {
				s.AllowableValues = append(s.AllowableValues, text)
				s.displayed = append(s.displayed, cmp.Or(v.ValueDisplayName, text))
			}
		}
		entries[of.AttributeName] = s
	}
	for _, of := range list.RegistryEntries.Dependencies {
		s, ok := entries[of.Dependency.MapToAttribute]
		if !ok || of.Dependency.MapToProperty != "ReadOnly" {
			continue
		}
		for _, from := range of.Dependency.MapFrom {
			s.readOnlyBy = append(s.readOnlyBy, from.MapFromAttribute)
		}
		entries[of.Dependency.MapToAttribute] = s
	}
	return entries
}

// optional is a value that is nil if the BMC has none, or one of another type.
type optional[T any] struct{ value *T }

func (o *optional[T]) UnmarshalJSON(text []byte) error {
	var value *T
	if json.Unmarshal(text, &value) == nil {
		o.value = value
	}
	return nil
}
