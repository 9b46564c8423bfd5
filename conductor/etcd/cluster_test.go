// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/etcd"
	"github.com/ironstate/ironstate/conductor/etcd/internal/etcdtest"
	"github.com/ironstate/ironstate/conductor/storetest"
)

func TestTheStoreOnAClusterKeepsItsPromises(t *testing.T) {
	members := etcdtest.StartCluster(t, 3, nil)
	handles := []conductor.Store{connect(t, etcd.Config{Endpoints: endpoints(members)})}
	for _, m := range members {
		handles = append(handles, connect(t, etcd.Config{Endpoints: []string{m.Client}}))
	}
	require.NoError(t, storetest.Check(handles[0], handles[1:]...))
}
