package main

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/program"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/machine/plan"
	"github.com/ironstate/ironstate/states"
)

func TestOnlyALockAndABusyServerAreTriedAgain(t *testing.T) {
	for _, what := range []string{"GET", "manage"} {
		for status, again := range map[int]bool{
			http.StatusConflict:            true,
			http.StatusServiceUnavailable:  true,
			http.StatusBadRequest:          false,
			http.StatusUnauthorized:        false,
			http.StatusForbidden:           false,
			http.StatusNotFound:            false,
			http.StatusNotAcceptable:       false,
			http.StatusTooManyRequests:     false,
			http.StatusInternalServerError: false,
			http.StatusBadGateway:          false,
			http.StatusGatewayTimeout:      false,
		} {
			t.Run(what+" "+http.StatusText(status), func(t *testing.T) {
				ironic := startFake(t, machine.Node{State: states.Enroll}, func(f *fake) {
					f.refuse(what, answer{status: status, fault: "because"})
				})
				out, err := bring(t, ironic, plan.Manageable)
				if again {
					require.NoError(t, err)
					require.Contains(t, out, "because; again in 1ms")
					require.Contains(t, out, "requests accepted: 1, refused for a while: 1")
					return
				}
				var r *refusal
				require.ErrorAs(t, err, &r)
				require.Equal(t, status, r.status)
				require.ErrorContains(t, err, "because")
				require.NotContains(t, out, "again")
				require.Equal(t, 1, ironic.asked[what])
				require.Empty(t, ironic.verbs())
			})
		}
	}
}

func TestWhatGoesOnIsGivenUp(t *testing.T) {
	busy := answer{status: http.StatusServiceUnavailable, fault: "busy"}
	ironic := startFake(t, machine.Node{State: states.Enroll}, func(f *fake) {
		f.refuse("manage", busy, busy, busy, busy)
	})
	_, err := bring(t, ironic, plan.Manageable)
	require.ErrorContains(t, err, "refused 4 times in a row: send manage: 503 Service Unavailable: busy")
	require.Equal(t, 4, ironic.asked["manage"])
	require.Empty(t, ironic.verbs())
}

func TestRetryAfterIsHonoured(t *testing.T) {
	ironic := startFake(t, machine.Node{State: states.Enroll}, func(f *fake) {
		f.refuse("manage", answer{status: http.StatusConflict, retryAfter: "1"})
	})
	began := time.Now()
	out, err := bring(t, ironic, plan.Manageable)
	require.NoError(t, err)
	require.GreaterOrEqual(t, time.Since(began), time.Second)
	require.Contains(t, out, "409 Conflict; again in 1s")
}

// Had the progress of the refused request been stored, the plan would take the
// inspection for done.
func TestProgressIsKeptOnlyOfWhatWasAccepted(t *testing.T) {
	ironic := startFake(t, machine.Node{State: states.Manageable}, func(f *fake) {
		f.refuse("inspect", answer{status: http.StatusConflict}, answer{status: http.StatusServiceUnavailable})
	})
	out, err := bring(t, ironic, plan.Inspected)
	require.NoError(t, err)
	require.Equal(t, []string{"inspect"}, ironic.verbs())
	require.Contains(t, out, "requests accepted: 1, refused for a while: 2")
}

func TestANodeThatCannotComeToItsGoal(t *testing.T) {
	tests := map[string]struct {
		node   machine.Node
		goal   plan.Goal
		change func(*options)
		want   string
	}{
		"without permission no workload is destroyed": {machine.Node{State: states.Active}, plan.Available, nil,
			"node-1 has not come to available (last seen in active): blocked: needs destroy, before deleted; see -may-destroy"},
		"without permission nothing is tried again": {machine.Node{State: states.DeployFail, Target: states.Active}, plan.Active, nil,
			"blocked: needs retry of deployment, before active; look at the node, or see -retries"},
		"what is held wants a person": {machine.Node{State: states.CleanHold, Target: states.Available}, plan.Available, nil,
			"blocked: needs unhold of cleaning, before unhold; let it go on, or see -may-abort"},
		"an old version lacks the verb": {machine.Node{State: states.Active}, plan.Serviced,
			func(o *options) { o.version = 81 }, "blocked: needs version, before service with service_steps; see -api"},
		"there is no way": {machine.Node{State: states.Active}, plan.Errored,
			func(o *options) { o.policy.MayDestroy = true }, "blocked: no route"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			ironic := startFake(t, test.node)
			change := test.change
			if change == nil {
				change = func(*options) {}
			}
			out, err := bring(t, ironic, test.goal, change)
			require.ErrorContains(t, err, test.want)
			require.Contains(t, out, "blocked: ")
			require.Empty(t, ironic.verbs())
			require.Equal(t, test.node.State, ironic.state())
			var blocked *blockedError
			require.ErrorAs(t, err, &blocked)
		})
	}
}

func TestRetriesAreCounted(t *testing.T) {
	fails := []states.Event{states.EventFail, states.EventFail, states.EventFail}
	ironic := startFake(t, machine.Node{State: states.Available}, func(f *fake) { f.work(states.Deploying, fails...) })
	_, err := bring(t, ironic, plan.Active, func(o *options) { o.policy.Retries[plan.Deployment] = 2 })
	require.ErrorContains(t, err, "needs retry of deployment")
	require.Equal(t, []string{"active", "active", "active"}, ironic.verbs())
}

func TestWhatIsHeldIsEndedByPermission(t *testing.T) {
	ironic := startFake(t, machine.Node{State: states.DeployHold, Target: states.Active})
	out, err := bring(t, ironic, plan.Available, func(o *options) {
		o.policy.MayAbort, o.policy.MayDestroy = true, true
	})
	require.NoError(t, err, out)
	require.Equal(t, states.Available, ironic.state())
}

func TestANodeInMaintenance(t *testing.T) {
	t.Run("is not deployed", func(t *testing.T) {
		ironic := startFake(t, machine.Node{State: states.Available}, func(f *fake) { f.maintenance = "a person\nis at it" })
		_, err := bring(t, ironic, plan.Active)
		require.EqualError(t, err, "node-1 has not come to active (last seen in available): "+
			"blocked: in maintenance, before active; the reason for it: a person is at it")
		require.Empty(t, ironic.verbs())
	})
	t.Run("is managed", func(t *testing.T) {
		ironic := startFake(t, machine.Node{State: states.Enroll}, func(f *fake) { f.maintenance = "why not" })
		_, err := bring(t, ironic, plan.Manageable)
		require.NoError(t, err)
		require.Equal(t, []string{"manage"}, ironic.verbs())
	})
	t.Run("at its goal", func(t *testing.T) {
		ironic := startFake(t, machine.Node{State: states.Active}, func(f *fake) { f.maintenance = "why not" })
		out, err := bring(t, ironic, plan.Active)
		require.NoError(t, err)
		require.Contains(t, out, "done, in maintenance")
	})
}

func TestAStateOfANewerIronic(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1" {
			reply(w, http.StatusOK, map[string]any{"id": "v1", "version": map[string]any{"min_version": "1.1", "version": "1.500"}})
			return
		}
		reply(w, http.StatusOK, map[string]any{"provision_state": "levitating", "target_provision_state": "orbit"})
	}))
	defer server.Close()
	code, _, errOut := command(t, "", "-endpoint", server.URL, "-node", "node-1")
	require.Equal(t, program.Failed, code)
	require.Equal(t, "reconcile: node-1 has not come to active (last seen in levitating): "+
		"blocked: unknown state \"levitating\": Ironic is newer than this program\n", errOut)
}

func TestTheTimeIsLimited(t *testing.T) {
	tests := map[string]func(*fake){
		"work that does not end":    func(f *fake) { f.delay = time.Hour },
		"a wait that is asked for":  func(f *fake) { f.refuse("manage", answer{status: 503, retryAfter: "30"}) },
		"a server that is slow now": func(f *fake) { f.refuse("GET", answer{status: 409, retryAfter: "30"}) },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			ironic := startFake(t, machine.Node{State: states.Enroll}, change)
			began := time.Now()
			_, err := bring(t, ironic, plan.Manageable, func(o *options) {
				o.timeout, o.patience.longest = 300*time.Millisecond, time.Hour
			})
			require.ErrorContains(t, err, "no end in 300ms")
			require.Less(t, time.Since(began), 20*time.Second)
		})
	}
}

func TestAnAnswerThatDoesNotComeIsNotWaitedForLongerThanAllMayTake(t *testing.T) {
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	defer server.Close()
	defer close(release)
	code, _, errOut := command(t, "", "-endpoint", server.URL, "-node", "node-1", "-timeout", "100ms")
	require.Equal(t, program.Failed, code)
	require.Equal(t, "reconcile: node-1 has not come to active: no end in 100ms\n", errOut)
}

func TestADeadServerIsNotAskedAgain(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	code, out, errOut := command(t, "", "-endpoint", server.URL, "-node", "node-1")
	require.Equal(t, program.Failed, code)
	require.Empty(t, out)
	require.Contains(t, errOut, "ask for the API's versions: ")
	require.Contains(t, errOut, "connection refused")
}

func TestAServerThatIsNoIronic(t *testing.T) {
	for name, body := range map[string]string{
		"a page": "<html>", "nothing": "{}", "words": `{"version": {"min_version": "one", "version": "two"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte(body)) }))
			defer server.Close()
			code, out, errOut := command(t, "", "-endpoint", server.URL, "-node", "node-1")
			require.Equal(t, program.Failed, code)
			require.Empty(t, out)
			require.Contains(t, errOut, "reconcile: node-1 has not come to active: ask for the API's versions: ")
		})
	}
}

func TestANodeThatIsNotThere(t *testing.T) {
	ironic := startFake(t, machine.Node{State: states.Enroll})
	_, err := bring(t, ironic, plan.Active, func(o *options) { o.node = "node-2" })
	require.EqualError(t, err, "node-2 has not come to active: look at the node: 404 Not Found: Node node-2 could not be found.")
}
