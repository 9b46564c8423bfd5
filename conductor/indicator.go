// SPDX-License-Identifier: Apache-2.0

package conductor

import "context"

// Indicator is a light of a machine.
//
// Source: get_supported_indicators in ironic/drivers/base.py.
type Indicator struct {
	Component string   `json:"component"` // "chassis" or "system", for instance
	Name      string   `json:"name"`      // unique in the component
	ReadOnly  bool     `json:"read_only,omitzero"`
	States    []string `json:"states"` // "on", "off", "blinking"
}

// IndicatorReader is implemented by a [Hardware] whose machines have indicators.
type IndicatorReader interface {
	// Indicators returns the indicators of a node.
	Indicators(ctx context.Context, n *Node) ([]Indicator, error)
	// IndicatorState reads the state of an indicator. The error matches Invalid if the node
	// has no such component or indicator.
	IndicatorState(ctx context.Context, n *Node, component, name string) (string, error)
}

// Indicators returns the indicators of a node. The error matches [NotFound] or [Unsupported], or is
// the hardware's or the store's.
func (c *Conductor) Indicators(ctx context.Context, ident string) (indicators []Indicator, err error) {
	if r, delegated, err := c.calls.delegate(ctx, ident, "indicators", callArgs{}); delegated {
		return r.Indicators, err
	}
	err = c.engine.shared(ctx, ident, func(ctx context.Context, hardware Hardware, n *Node) (err error) {
		reader, ok := hardware.(IndicatorReader)
		if !ok {
			return unsupported(n, "get_supported_indicators")
		}
		indicators, err = reader.Indicators(ctx, n)
		return err
	})
	return indicators, err
}

// IndicatorState reads the state of an indicator of a node, such as "on". The error matches [NotFound],
// [Locked], [Unsupported] or [Invalid], or is the hardware's or the store's.
func (c *Conductor) IndicatorState(ctx context.Context, ident, component, name string) (state string, err error) {
	if r, delegated, err := c.calls.delegate(ctx, ident, "indicator state", callArgs{Component: component, Indicator: name}); delegated {
		return r.State, err
	}
	err = c.engine.exclusively(ctx, ident, func(ctx context.Context, hardware Hardware, n *Node) (err error) {
		reader, ok := hardware.(IndicatorReader)
		if !ok {
			return unsupported(n, "get_indicator_state")
		}
		state, err = reader.IndicatorState(ctx, n, component, name)
		return err
	})
	return state, err
}
