// SPDX-License-Identifier: Apache-2.0

package hardware_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/agent/agenttest"
	"github.com/ironstate/ironstate/conductor/api"
	"github.com/ironstate/ironstate/conductor/hardware"
	"github.com/ironstate/ironstate/conductor/hardware/images"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

// lab is a conductor with its API, and one machine with a BMC, a disk and an agent.
type lab struct {
	*site
	bmc      *bmctest.Redfish
	profile  bmctest.Profile // of the BMC
	machine  *agenttest.Machine
	web      string // the URL of the service and of the files
	image    []byte // the file x.raw
	files    map[string][]byte
	images   *images.Server
	requests atomic.Int32 // of the API that are in flight
	n        *conductor.Node
}

// prompt is a hardware type that reads the power of a lab's machine when its agent has powered it off, unless that
// takes long. A conductor that reads it too early waits for five seconds before it does so again.
type prompt struct {
	*hardware.Type
	lab *lab
}

func (p prompt) PowerState(ctx context.Context, n *conductor.Node) (states.Power, error) {
	machine := p.lab.machine
	commands := machine.Commands()
	if last := len(commands) - 1; last >= 0 && commands[last].Name == "standby.power_off" {
		for range 100 {
			if on := machine.Running() == "agent" || p.lab.bmc.Power(p.lab.profile.SystemID) == "On" && machine.Running() == ""; !on {
				break
			}
			time.Sleep(time.Millisecond)
		}
	}
	return p.Type.PowerState(ctx, n)
}

// startLab starts a lab whose node has a deploy interface and the next image to be written.
func startLab(t *testing.T, state states.State, deploy string, set ...func(*agenttest.Config)) *lab {
	return startLabOn(t, bmctest.Profile{SystemID: "1"}, state, deploy, set...)
}

// startLabOn starts a lab whose BMC has a profile.
func startLabOn(t *testing.T, p bmctest.Profile, state states.State, deploy string, set ...func(*agenttest.Config)) *lab {
	return startLabWith(t, p, state, deploy, func(*conductor.Node) {}, set...)
}

// startLabWith starts a lab whose node has more fields.
func startLabWith(
	t *testing.T, p bmctest.Profile, state states.State, deploy string, more func(*conductor.Node), set ...func(*agenttest.Config),
) *lab {
	l := &lab{image: agenttest.Image(3<<20, 7), profile: p}
	var handler http.Handler
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/images/x.raw":
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(l.image))
		case r.URL.Path == "/images/moved.raw":
			http.Redirect(w, r, "/images/x.raw", http.StatusFound)
		case r.URL.Path == "/images/elsewhere.raw":
			http.Redirect(w, r, "http://169.254.169.254/x.raw", http.StatusFound)
		case r.URL.Path == "/images/malformed.raw":
			w.Header()["Location"] = []string{"http://[::1?signature=hunter2"}
			w.WriteHeader(http.StatusFound)
		case l.files[path.Base(r.URL.Path)] != nil:
			_, _ = w.Write(l.files[path.Base(r.URL.Path)])
		case strings.HasPrefix(r.URL.Path, "/images/"):
			http.NotFound(w, r)
		case l.images.Serves(r.URL.Path):
			l.images.ServeHTTP(w, r)
		default:
			l.requests.Add(1)
			defer l.requests.Add(-1)
			handler.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(web.Close)
	config := agenttest.Config{
		API:      web.URL,
		MACs:     []string{"52:54:00:00:00:07"},
		DiskSize: 80 << 20,
		PowerOff: func() { _ = l.bmc.SetPower(p.SystemID, "Off") },
	}
	for _, set := range set {
		set(&config)
	}
	var err error
	l.machine, err = agenttest.New(config)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.machine.Close()) })
	l.bmc = startRedfish(t, func(c *bmctest.RedfishConfig) {
		c.Profile, c.Systems = p, []bmctest.System{{OnPower: l.machine.Power}}
	})
	l.web = web.URL
	client, err := images.NewClient("127.0.0.1")
	require.NoError(t, err)
	l.images, err = images.New(images.Config{Folder: t.TempDir(), URL: web.URL + "/published", Client: client})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.images.Close()) })
	hardwareConfig := hardware.Config{Images: l.images, Client: client, Pause: time.Millisecond}
	l.site = start(t, hardwareConfig, func(c *conductor.Config) {
		c.Hardware["redfish"] = prompt{c.Hardware["redfish"].(*hardware.Type), l}
		c.Hardware["mixed"] = prompt{newMixed(t, hardwareConfig, l.bmc), l}
	})
	handler = api.New(l.Conductor, api.Config{})
	l.n = l.node(redfishMachine(l.bmc, t), withProfile(p), func(n *conductor.Node) {
		n.ProvisionState, n.Interfaces, n.AutomatedClean = state, map[string]string{"deploy": deploy, "rescue": "agent"}, nil
		n.InstanceInfo = map[string]any{
			"image_source":        web.URL + "/images/x.raw",
			"image_disk_format":   "raw",
			"image_os_hash_algo":  "sha256",
			"image_os_hash_value": fmt.Sprintf("%x", sha256.Sum256(l.image)),
		}
		more(n)
	})
	_, err = l.CreateObject(t.Context(), &conductor.Port{ObjectMeta: conductor.ObjectMeta{NodeUUID: l.n.UUID}, Address: "52:54:00:00:00:07"})
	require.NoError(t, err)
	return l
}

// until waits until the node is in one of the states and not reserved.
func (l *lab) until(want ...states.State) *conductor.Node {
	l.t.Helper()
	for {
		if n := l.settle(l.n); slices.Contains(want, n.ProvisionState) {
			return n
		}
	}
}

// ask requests a provision state. It waits until no request is in flight: a lookup of an agent that was just powered
// off would take the token of the next one.
func (l *lab) ask(r conductor.ProvisionRequest) {
	l.t.Helper()
	for l.requests.Load() > 0 {
		time.Sleep(time.Millisecond)
	}
	r.Version = l.word("").Version
	require.NoError(l.t, l.Provision(l.t.Context(), l.n.UUID, r))
}

// commands returns the names of the commands and steps that agents have received.
func (l *lab) commands() (names []string) {
	for _, c := range l.machine.Commands() {
		name := c.Name
		if step, ok := c.Params["step"].(map[string]any); ok {
			name += " " + fmt.Sprint(step["step"])
		}
		names = append(names, name)
	}
	return names
}

func (l *lab) disk() []byte {
	content, err := os.ReadFile(l.machine.Disk)
	require.NoError(l.t, err)
	return content
}

// requireRuns waits for the machine to run something: a machine that was just powered on boots it in the background.
func (l *lab) requireRuns(what string) {
	l.t.Helper()
	for l.machine.Running() != what {
		time.Sleep(time.Millisecond)
	}
}
