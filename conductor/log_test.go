// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/bubble"
	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/states"
)

// lockedBuffer is a buffer that several goroutines write.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// TestLogsAndErrorsNameTheNodeAsItsUsersDo follows two nodes, with a name and without, whose
// verification, power sync and power request fail.
func TestLogsAndErrorsNameTheNodeAsItsUsersDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out lockedBuffer
		f := start(t, func(c *conductor.Config) {
			c.Log = slog.New(slog.NewTextHandler(&out, nil))
			c.Power = powersync.Config{Policy: powersync.Policy{MaxRetries: 1}, RecoveryInterval: -1}
		})
		f.before(func(context.Context, *conductor.Node, string) error { return errors.New("no answer") })
		for name, label := range map[string]string{"rack1-7": "rack1-7 (UUID)", "": "UUID"} {
			n, err := f.CreateNode(f.ctx, &conductor.Node{Name: name, Driver: "fake-hardware", ProvisionState: states.Enroll})
			require.NoError(t, err)
			label = strings.ReplaceAll(label, "UUID", n.UUID)
			f.request(n, "manage")
			require.Equal(t, "verification of node "+label+" failed: no answer", f.settle(n).LastError)

			require.NoError(t, f.Put(f.ctx, n.UUID, func(n *conductor.Node) { n.ProvisionState, n.Power = states.Active, states.PowerOff }))
			require.NoError(t, f.SetPower(f.ctx, n.UUID, states.PowerOn, 0))
			require.Equal(t, "node "+label+`: request for "power on" failed: no answer`, f.settle(n).LastError)
			bubble.Sleep(10 * time.Minute) // the power sync puts the node into maintenance
			require.True(t, f.settle(n).Maintenance)

			lines := 0
			for line := range strings.Lines(out.String()) {
				if strings.Contains(line, "node="+n.UUID) {
					lines++
					require.Equal(t, name != "", strings.Contains(line, " name="+name), line)
				}
			}
			require.GreaterOrEqual(t, lines, 5)
		}
	})
}
