// SPDX-License-Identifier: Apache-2.0

package zaplog_test

import (
	"bytes"
	"log/slog"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor/etcd/internal/zaplog"
)

func TestAnErrorThatEtcdRepairsByItselfIsNotAnErrorInTheLog(t *testing.T) {
	var b bytes.Buffer
	log := zaplog.New(slog.New(slog.NewTextHandler(&b, nil)), new(atomic.Bool))
	log.Error("failed to update storage version")
	require.Empty(t, b.String())
	log.Error("failed")
	require.Contains(t, b.String(), `level=ERROR msg="etcd: failed"`)
}
