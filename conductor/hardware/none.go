// SPDX-License-Identifier: Apache-2.0

package hardware

import "github.com/ironstate/ironstate/internal/kinds"

// None returns the interface "no-KIND", which refuses the functions of its kind.
func None(kind string) Interface { return none{named(kinds.None(kind)), kind} }

type none struct {
	named
	kind string
}

func (i none) Validate(n Node) error { return noFunction(n.Node, i.kind) }

// named is the name of an interface that reads no key of driver_info.
type named string

func (i named) Name() string                { return string(i) }
func (named) Properties() map[string]string { return nil }
