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

// Indicators returns the indicators of the node. The error matches [NotFound] or [Unsupported], or is
// a [*HardwareError] or the store's.
func (m NodeManagement) Indicators(ctx context.Context) ([]Indicator, error) {
	return readIndicators.call(ctx, m.conductor, m.ident, none{})
}

var readIndicators = forOwner("indicators", func(ctx context.Context, c *Conductor, ident string, _ none) ([]Indicator, error) {
	return able(ctx, c.engine.shared, ident, "get_supported_indicators", IndicatorReader.Indicators)
})

// IndicatorState reads the state of an indicator, such as "on". The error matches [NotFound],
// [Locked], [Unsupported] or [Invalid], or is a [*HardwareError] or the store's.
func (m NodeManagement) IndicatorState(ctx context.Context, component, name string) (string, error) {
	return readIndicator.call(ctx, m.conductor, m.ident, indicatorArgs{component, name})
}

type indicatorArgs struct{ Component, Name string }

var readIndicator = forOwner("indicator state", func(ctx context.Context, c *Conductor, ident string, args indicatorArgs) (string, error) {
	read := func(by IndicatorReader, ctx context.Context, n *Node) (string, error) {
		return by.IndicatorState(ctx, n, args.Component, args.Name)
	}
	return able(ctx, c.engine.exclusively, ident, "get_indicator_state", read)
})
