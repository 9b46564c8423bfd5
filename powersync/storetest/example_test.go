// SPDX-License-Identifier: Apache-2.0

package storetest_test

import (
	"fmt"
	"strings"

	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/powersync/storetest"
)

// forgetful is a store that does not store one of the fields.
type forgetful struct{ powersync.Memory }

func (s *forgetful) Put(r powersync.Record) {
	r.DisablePowerOff = false
	s.Memory.Put(r)
}

// Check reports the fields that a store does not keep.
func ExampleCheck() {
	fmt.Println(storetest.Check(func(records ...powersync.Record) (powersync.Store, error) {
		s := new(powersync.Memory)
		for _, r := range records {
			s.Put(r)
		}
		return s, nil
	}))
	err := storetest.Check(func(records ...powersync.Record) (powersync.Store, error) {
		s := new(forgetful)
		for _, r := range records {
			s.Put(r)
		}
		return s, nil
	})
	promise, _, _ := strings.Cut(err.Error(), ": want")
	fmt.Println(promise)
	// Output:
	// <nil>
	// all fields are kept as they are
}
