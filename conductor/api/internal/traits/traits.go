// SPDX-License-Identifier: Apache-2.0

// Package traits checks the traits of nodes and runbooks, and makes the changes of their lists that clients request.
package traits

import (
	"cmp"
	_ "embed"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/schema"
	"github.com/ironstate/ironstate/states"
)

// standardTraitNames are the names of OpenStack's standard traits, one a line. Source:
// the package os-traits, version 3.9.
//
//go:embed standardtraits.txt
var standardTraitNames string

var standardTraits = strings.Fields(standardTraitNames)

// Args are the arguments of a PUT or DELETE of traits: a further segment of the path, the query, or the body of a
// DELETE may name one trait.
var Args = []string{"trait"}

// Change is the change of a list of traits that a PUT or DELETE requests.
type Change struct {
	Trait   string // that the request names; empty for all
	removes bool
	all     []string // of a PUT without a trait, sorted
}

// Decode returns the change that a request makes to the traits of a node or a runbook. exists looks for it: a missing
// one comes before a PUT with both a trait and a list in the body, or with neither.
func Decode(r *rest.Request, noun string, exists func() error) (c Change, err error) {
	a := r.QueryArgs(Args...)
	if a.Err != nil {
		return c, a.Err
	}
	body, err := r.Decode(rest.MaxBody)
	if err != nil {
		return c, err
	}
	if c.removes = r.Method == http.MethodDelete; c.removes {
		c.Trait = a.Text("trait")
		return c, a.Err
	}
	if a.Has("trait") {
		if err := Schema.Validate("trait", a.Values["trait"]); err != nil {
			return c, err
		}
		c.Trait = a.Text("trait")
	}
	if body != nil { // null stands for no body
		valid := *bodySchema
		valid.Recent = r.Series >= states.Gazpacho
		if err := valid.Validate("body", body); err != nil {
			return c, err
		}
	}
	object, _ := body.(map[string]any)
	list, there := object["traits"].([]any)
	if c.Trait == "" && !there || c.Trait != "" && len(object) > 0 {
		return c, cmp.Or(exists(), fault.Invalid("A single %[1]s trait may be added via PUT /v1/%[1]ss/<%[1]s identifier>/traits/<trait> "+
			"with no body, or all %[1]s traits may be replaced via PUT /v1/%[1]ss/<%[1]s identifier>/traits with the list of traits "+
			"specified in the request body.", noun))
	}
	for _, item := range list {
		c.all = append(c.all, item.(string))
	}
	c.all = sorted(c.all)
	return c, nil
}

// Apply returns the changed list of the traits of a node or a runbook. owner is its UUID.
func (c Change) Apply(owner string, traits []string) ([]string, error) {
	i := slices.Index(traits, c.Trait)
	switch {
	case c.Trait == "":
		return c.all, nil
	case !c.removes:
		return sorted(append(slices.Clone(traits), c.Trait)), nil
	case i < 0:
		return nil, conductor.Held(fault.NotFound("Node %s doesn't have a trait '%s'", owner, fault.Show(c.Trait)))
	default:
		return slices.Delete(slices.Clone(traits), i, i+1), nil
	}
}

// sorted sorts a list of traits in place and returns it without duplicates.
func sorted(traits []string) []string {
	slices.Sort(traits)
	return slices.Compact(traits)
}

// Schema describes a trait: a standard one, or a name with the prefix CUSTOM_.
//
// Source: ironic/api/controllers/v1/utils.py.
var Schema = &schema.Schema{
	Types: []string{"string"}, MinLength: 1, MaxLength: 255,
	AnyOf: []*schema.Schema{{Pattern: regexp.MustCompile(`^CUSTOM_[A-Z0-9_]+$`)}, {Enum: standardTraits}},
}

// bodySchema describes the body of a request that sets all traits.
var bodySchema = &schema.Schema{
	Types: []string{"object"}, Closed: true,
	Properties: []schema.Property{{Name: "traits", Schema: &schema.Schema{Types: []string{"array"}, Items: Schema}}},
}
