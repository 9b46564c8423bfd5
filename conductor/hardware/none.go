// SPDX-License-Identifier: Apache-2.0

package hardware

import "github.com/ironstate/ironstate/internal/kinds"

// None returns the interface "no-KIND", which refuses the functions of its kind.
func None(kind string) Interface { return none{kind} }

type none struct{ kind string }

func (i none) Name() string                { return kinds.None(i.kind) }
func (none) Properties() map[string]string { return nil }
func (i none) Validate(n Node) error       { return noFunction(n.Node, i.kind) }
