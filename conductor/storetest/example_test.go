// SPDX-License-Identifier: Apache-2.0

package storetest_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/storetest"
)

// careless is a store that accepts any revision.
type careless struct{ conductor.Memory }

func (s *careless) Update(ctx context.Context, r conductor.Record) (int64, error) {
	stored, err := s.Get(ctx, r.Kind, r.ID)
	if err != nil {
		return 0, err
	}
	r.Revision = stored.Revision
	return s.Memory.Update(ctx, r)
}

// Check passes a correct store, and reports a store that loses updates.
func ExampleCheck() {
	fmt.Println(storetest.Check(new(conductor.Memory)))
	err := storetest.Check(new(careless))
	promise, _, _ := strings.Cut(err.Error(), ":")
	fmt.Println(promise)
	// Output:
	// <nil>
	// a write needs the current revision
}
