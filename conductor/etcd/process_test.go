// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"testing"

	"github.com/ironstate/ironstate/conductor/etcd/internal/etcdtest"
)

func TestMain(m *testing.M) {
	etcdtest.Main(m, map[string]func(arg string) error{"conductor": conductForever, "member": beMember})
}
