// SPDX-License-Identifier: Apache-2.0

package hardware_test

import (
	"bytes"
	"maps"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/agent/agenttest"
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

// count returns how many records have a text.
func (b *lockedBuffer) count(text string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Count(b.text.String(), text)
}

// lines returns the records of a node.
func (b *lockedBuffer) lines(node string) (lines []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for line := range strings.Lines(b.text.String()) {
		if strings.Contains(line, " node="+node) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// TestADeploymentIsLoggedInFiveLines deploys an image that the agent downloads and one that the service provides, and
// then an image that the agent cannot write.
func TestADeploymentIsLoggedInFiveLines(t *testing.T) {
	for _, source := range []string{"http", "local"} {
		l := startLab(t, states.Available, "direct")
		info := maps.Clone(l.n.InstanceInfo)
		info["image_download_source"] = source
		n := l.deploy(info, nil, nil)
		require.Equal(t, states.Active, n.ProvisionState, n.LastError)
		node := "node=" + n.UUID
		want := []string{
			`level=INFO msg="node moved" ` + node + ` from=available event=deploy to=deploying$`,
			`level=INFO msg="steps are planned" ` + node +
				` steps="\[deploy.deploy deploy.write_image deploy.prepare_instance_boot deploy.tear_down_agent .*\]"$`,
			`level=INFO msg="an agent runs" ` + node + ` from=127.0.0.1 version=\S+$`,
			`level=INFO msg="the agent has written the image" ` + node +
				` image=http://127.0.0.1:\d+/images/x.raw after=\S+ bytes=3145728 rate="\d+.\d MB/s"$`,
			`level=INFO msg="node moved" ` + node + ` from=deploying event=done to=active after=\S+$`,
		}
		lines := l.log.lines(n.UUID)
		require.Len(t, lines, len(want), "%s", strings.Join(lines, "\n"))
		for i, line := range lines {
			require.Regexp(t, want[i], line)
		}
	}

	l := startLab(t, states.Available, "direct")
	l.machine.AddFault(agenttest.Fault{On: "write_image", Do: agenttest.Fail("the disk is broken")})
	l.ask(conductor.ProvisionRequest{Target: "active"})
	n := l.until(states.DeployFail)
	lines := l.log.lines(n.UUID)
	require.Len(t, lines, 4)
	require.Regexp(t, `level=WARN msg="node moved" node=`+n.UUID+
		` from="wait call-back" event=fail to="deploy failed" after=\S+ last_error=".*the disk is broken"$`, lines[3])
}
