// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"context"
	"fmt"

	"github.com/ironstate/ironstate/conductor"
)

// VendorMethods implements [conductor.VendorPassthru].
func (t *Type) VendorMethods(n *conductor.Node) map[string]conductor.VendorMethod {
	node, err := t.node(n)
	if vendor, ok := node.Chosen.Vendor.(conductor.VendorPassthru); ok && err == nil {
		return vendor.VendorMethods(n)
	}
	return nil
}

// CallVendor implements [conductor.VendorPassthru].
func (t *Type) CallVendor(ctx context.Context, n *conductor.Node, method string, args map[string]any) (any, error) {
	node, err := t.node(n)
	if err != nil {
		return nil, err
	}
	if vendor, ok := node.Chosen.Vendor.(conductor.VendorPassthru); ok {
		return vendor.CallVendor(ctx, n, method, args)
	}
	return nil, noMethod(method)
}

func noMethod(method string) error {
	return &conductor.Error{Reason: conductor.Unsupported, Text: fmt.Sprintf("No handler for method %s", method)}
}
