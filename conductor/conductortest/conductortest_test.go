// SPDX-License-Identifier: Apache-2.0

package conductortest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/conductortest"
	"github.com/ironstate/ironstate/internal/leaks"
	"github.com/ironstate/ironstate/states"
)

func TestMain(m *testing.M) { leaks.Main(m) }

// do sends a request at the highest version and returns the status and the body.
func do(t *testing.T, method, url, body string) (int, map[string]any) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	request.Header.Set("X-OpenStack-Ironic-API-Version", "latest")
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	http.DefaultClient.CloseIdleConnections()
	var object map[string]any
	if len(text) > 0 {
		require.NoError(t, json.Unmarshal(text, &object), "%s", text)
	}
	return response.StatusCode, object
}

func TestTheExampleOfNew(t *testing.T) { testOfDeploy(t) }

// provision requests a provision state and returns the status of the response.
func provision(t *testing.T, ironic *conductortest.Server, node, target string) int {
	t.Helper()
	status, _ := do(t, http.MethodPut, ironic.URL+"/v1/nodes/"+node+"/states/provision", `{"target": "`+target+`"}`)
	return status
}

// look returns a node as the API shows it.
func look(t *testing.T, ironic *conductortest.Server, node string) map[string]any {
	t.Helper()
	status, fields := do(t, http.MethodGet, ironic.URL+"/v1/nodes/"+node, "")
	require.Equal(t, http.StatusOK, status)
	return fields
}

func TestANodeIsAddedInTheInitialStateOfEachSeries(t *testing.T) {
	for series := range states.AllSeries() {
		ironic := conductortest.New(t, conductortest.Config{Series: series})
		want := states.Enroll
		if series == states.Kilo {
			want = states.Available
		}
		require.Equal(t, want, ironic.Add(conductor.Node{}).ProvisionState, "%v", series)
	}
}

func TestWorkTakesAsLongAsTheTestWants(t *testing.T) {
	ironic := conductortest.New(t, conductortest.Config{})
	n := ironic.Add(conductor.Node{Name: "rack1-7", ProvisionState: states.Available})
	begun, proceed := make(chan bool), make(chan error)
	ironic.Next(n, "deploy.deploy", func(context.Context) error { close(begun); return <-proceed })
	require.Equal(t, http.StatusAccepted, provision(t, ironic, "rack1-7", "active"))
	<-begun
	node := look(t, ironic, "rack1-7")
	require.Equal(t, "deploying", node["provision_state"])
	require.Equal(t, "conductortest", node["reservation"])
	proceed <- errors.New("no such image")
	n = ironic.WaitFor(t.Context(), "rack1-7", states.DeployFail)
	require.Equal(t, "Deploy step deploy.deploy failed: no such image.", n.LastError)
}

// Next can make each kind of work fail, and the node then enters the state that Ironic has for
// that failure.
func TestEachWorkCanFail(t *testing.T) {
	tests := []struct {
		from            states.State
		verb, operation string
		to              states.State
	}{
		{states.Enroll, "manage", "verify", states.Enroll},
		{states.Manageable, "inspect", "inspect.inspect_hardware", states.InspectFail},
		{states.Manageable, "provide", "deploy.erase_devices", states.CleanFail},
		{states.Manageable, "adopt", "deploy.take_over", states.AdoptFail},
		{states.Available, "active", "deploy.deploy", states.DeployFail},
		{states.Active, "rebuild", "deploy.deploy", states.DeployFail},
		{states.Active, "deleted", "deploy.tear_down", states.Error},
		{states.Active, "deleted", "deploy.erase_devices", states.CleanFail},
		{states.Rescue, "unrescue", "rescue.unrescue", states.UnrescueFail},
	}
	for _, test := range tests {
		t.Run(test.verb+" "+test.operation, func(t *testing.T) {
			ironic := conductortest.New(t, conductortest.Config{})
			n := ironic.Add(conductor.Node{ProvisionState: test.from})
			ironic.Next(n, test.operation, func(context.Context) error { return errors.New("out of order") })
			require.Equal(t, http.StatusAccepted, provision(t, ironic, n.UUID, test.verb))
			n = ironic.WaitFor(t.Context(), n.UUID, test.to)
			require.Contains(t, n.LastError, "out of order")
		})
	}
}

func TestAPowerRequestCanFail(t *testing.T) {
	for _, operation := range []string{"read power", "power on"} {
		t.Run(operation, func(t *testing.T) {
			ironic := conductortest.New(t, conductortest.Config{})
			n := ironic.Add(conductor.Node{ProvisionState: states.Available, Power: states.PowerOff})
			called := make(chan bool)
			ironic.Next(n, operation, func(context.Context) error { close(called); return errors.New("no answer") })
			status, _ := do(t, http.MethodPut, ironic.URL+"/v1/nodes/"+n.UUID+"/states/power", `{"target": "power on"}`)
			require.Equal(t, http.StatusAccepted, status)
			<-called
			ironic.WaitFor(t.Context(), n.UUID, states.Available) // until the reservation is dropped
			require.Contains(t, look(t, ironic, n.UUID)["last_error"], "no answer")
		})
	}
}

// A node has a step of automated cleaning only if Next was called with it.
func TestCleaningWaitsForACallBack(t *testing.T) {
	ironic := conductortest.New(t, conductortest.Config{})
	n := ironic.Add(conductor.Node{ProvisionState: states.Manageable})
	other := ironic.Add(conductor.Node{ProvisionState: states.Manageable})
	ironic.Next(n, "deploy.erase_devices", func(context.Context) error { return conductor.ErrWait })

	require.Equal(t, http.StatusAccepted, provision(t, ironic, n.UUID, "provide"))
	n = ironic.WaitFor(t.Context(), n.UUID, states.CleanWait)
	require.Equal(t, "erase_devices", n.Step().Step)
	require.NoError(t, ironic.Conductor.Resume(t.Context(), n.UUID, nil))
	ironic.WaitFor(t.Context(), n.UUID, states.Available)

	require.Equal(t, http.StatusAccepted, provision(t, ironic, other.UUID, "provide"))
	other = ironic.WaitFor(t.Context(), other.UUID, states.Available)
	require.Zero(t, other.CleanSteps.Begun)
}

func TestANodeIsInAnyStateOfTheSeries(t *testing.T) {
	for series := range states.AllSeries() {
		ironic := conductortest.New(t, conductortest.Config{Series: series})
		for state := range series.Table().States().All() {
			n := ironic.Add(conductor.Node{ProvisionState: state})
			if series.Table().Stable().Has(state) || series.Table().Phase(state) == states.PhaseWaiting {
				status, node := do(t, http.MethodGet, ironic.URL+"/v1/nodes/"+n.UUID, "")
				require.Equal(t, http.StatusOK, status)
				require.Equal(t, state.String(), node["provision_state"], "%v", series)
			}
		}
	}
}

func TestAddKeepsTheTargetOfTheNode(t *testing.T) {
	ironic := conductortest.New(t, conductortest.Config{})
	n := ironic.Add(conductor.Node{ProvisionState: states.CleanWait, TargetProvisionState: states.Manageable})
	require.Equal(t, "manageable", look(t, ironic, n.UUID)["target_provision_state"])
	n = ironic.Add(conductor.Node{ProvisionState: states.CleanWait})
	require.Equal(t, "available", look(t, ironic, n.UUID)["target_provision_state"])
}

// Reads before the call of AwaitRead, reads of other nodes and reads of other paths do not count.
func TestAwaitRead(t *testing.T) {
	ironic := conductortest.New(t, conductortest.Config{})
	n, other := ironic.Add(conductor.Node{Name: "rack1-7"}), ironic.Add(conductor.Node{Name: "rack1-8"})
	counts := map[string]bool{
		"/v1/nodes/rack1-7": true, "/v1/nodes/rack1-7/states": true, "/v1/nodes/" + n.UUID: true, "/v1/nodes": true,
		"/v1/nodes/detail": true, "/v1/nodes/?limit=1": true,
		"/v1/nodes/rack1-8": false, "/v1/nodes/" + other.UUID: false, "/v1/nodes/rack1-7/ports": false, "/v1/ports": false, "/": false,
	}
	for path, want := range counts {
		do(t, http.MethodGet, ironic.URL+path, "")
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		registered := make(chan struct{})
		go func() { ended <- ironic.AwaitRead(&announced{Context: ctx, to: registered}, n) }()
		<-registered
		do(t, http.MethodGet, ironic.URL+path, "")
		if want {
			require.NoError(t, <-ended, path)
			cancel()
			continue
		}
		cancel()
		require.ErrorIs(t, <-ended, context.Canceled, path)
	}
}

// announced is a context that closes a channel when Done is first called.
type announced struct {
	context.Context
	to   chan struct{}
	once sync.Once
}

func (a *announced) Done() <-chan struct{} {
	a.once.Do(func() { close(a.to) })
	return a.Context.Done()
}

func TestRefusalsAreInIronicsForm(t *testing.T) {
	ironic := conductortest.New(t, conductortest.Config{Series: states.Antelope})
	n := ironic.Add(conductor.Node{})
	ironic.Refuse(http.StatusConflict, http.StatusServiceUnavailable, http.StatusNotAcceptable)
	for _, want := range []struct {
		status int
		text   string
	}{
		{http.StatusConflict, `"faultcode":"Client","faultstring":"Node is locked`},
		{http.StatusServiceUnavailable, `"faultcode":"Server","faultstring":"Requested action cannot be performed`},
		{http.StatusNotAcceptable, `"code":406,"description":"The test refuses this request: Not Acceptable.","title":"Not Acceptable"`},
	} {
		look(t, ironic, n.UUID) // a GET is not refused
		status, body := do(t, http.MethodPut, ironic.URL+"/v1/nodes/"+n.UUID+"/states/provision", `{"target": "manage"}`)
		require.Equal(t, want.status, status)
		require.Contains(t, body["error_message"], want.text)
	}
	require.Equal(t, http.StatusAccepted, provision(t, ironic, n.UUID, "manage"))
	ironic.WaitFor(t.Context(), n.UUID, states.Manageable)
}

// Close returns although work is in flight.
func TestCloseEndsWork(t *testing.T) {
	ironic, err := conductortest.Start(conductortest.Config{})
	require.NoError(t, err)
	n := ironic.Add(conductor.Node{ProvisionState: states.Available})
	begun := make(chan struct{})
	ironic.Next(n, "deploy.deploy", func(ctx context.Context) error { close(begun); <-ctx.Done(); return ctx.Err() })
	require.Equal(t, http.StatusAccepted, provision(t, ironic, n.UUID, "active"))
	<-begun
	ironic.Close()
	require.ErrorIs(t, ironic.AwaitRead(canceled(t), n), context.Canceled)
}

func canceled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// fatal is a [testing.TB] that records its failure.
type fatal struct {
	testing.TB
	text string
}

func (f *fatal) Fatal(args ...any) { f.fail(fmt.Sprint(args...)) }

func (f *fatal) Fatalf(format string, args ...any) { f.fail(fmt.Sprintf(format, args...)) }

func (f *fatal) fail(text string) {
	f.text = text
	runtime.Goexit()
}

func TestMistakesFailTheTest(t *testing.T) {
	tests := map[string]struct {
		do   func(testing.TB)
		want string
	}{
		"a series that is none": {func(t testing.TB) { conductortest.New(t, conductortest.Config{Series: 200}) },
			"conductortest: there is no series"},
		"a state of another series": {func(t testing.TB) {
			conductortest.New(t, conductortest.Config{Series: states.Kilo}).Add(conductor.Node{ProvisionState: states.Servicing})
		}, `conductortest: add a node: node`},
		"a node that is not there": {func(t testing.TB) { conductortest.New(t, conductortest.Config{}).Node("rack1-7") },
			"conductortest: Node rack1-7 could not be found."},
		"an operation that is none": {func(t testing.TB) {
			conductortest.New(t, conductortest.Config{}).Next(&conductor.Node{}, "deploy", nil)
		}, `conductortest: there is no operation "deploy", only bios.apply_configuration, `},
		"a state that does not come": {func(t testing.TB) {
			ironic := conductortest.New(t, conductortest.Config{})
			ironic.Add(conductor.Node{Name: "rack1-7"})
			ironic.SetMaxWait(time.Millisecond)
			ironic.WaitFor(t.Context(), "rack1-7", states.Active)
		}, `is in "enroll" and not in "active" (last error ""): context deadline exceeded`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := &fatal{TB: t}
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				test.do(f)
			}()
			<-ended
			require.Contains(t, f.text, test.want)
		})
	}
	ironic, err := conductortest.Start(conductortest.Config{})
	require.NoError(t, err)
	defer ironic.Close()
	require.Panics(t, func() { ironic.Node("rack1-7") }, "without a test")
}
