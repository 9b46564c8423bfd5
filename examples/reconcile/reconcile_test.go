package main

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/conductortest"
	"github.com/ironstate/ironstate/internal/program"
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
				f := start(t, conductor.Node{})
				f.refuse(what, answer{status: status, fault: "because"})
				out, err := bring(t, f, plan.In(states.Manageable))
				if again {
					require.NoError(t, err)
					require.Contains(t, out, "because; again in 1ms")
					require.Contains(t, out, "requests accepted: 1, refused for a while: 1")
					return
				}
				var r *refusedError
				require.ErrorAs(t, err, &r)
				require.Equal(t, status, r.status)
				require.ErrorContains(t, err, "because")
				require.NotContains(t, out, "again")
				require.Equal(t, 1, f.asked[what])
				require.Empty(t, f.verbs())
			})
		}
	}
}

func TestRefusalsInARowEndTheProgram(t *testing.T) {
	busy := answer{status: http.StatusServiceUnavailable, fault: "busy"}
	f := start(t, conductor.Node{})
	f.refuse("manage", busy, busy, busy, busy)
	_, err := bring(t, f, plan.In(states.Manageable))
	require.ErrorContains(t, err, "refused 4 times in a row: send manage: 503 Service Unavailable: busy")
	require.Equal(t, 4, f.asked["manage"])
	require.Empty(t, f.verbs())
}

func TestRetryAfterIsHonoured(t *testing.T) {
	f := start(t, conductor.Node{})
	f.refuse("manage", answer{status: http.StatusConflict, retryAfter: "1"})
	out, err := bring(t, f, plan.In(states.Manageable))
	require.NoError(t, err)
	require.Contains(t, out, "409 Conflict; again in 1s")
}

// Had the progress of the refused request been stored, the plan would take the
// inspection for done.
func TestProgressIsKeptOnlyOfWhatWasAccepted(t *testing.T) {
	f := start(t, conductor.Node{ProvisionState: states.Manageable})
	f.refuse("inspect", answer{status: http.StatusConflict}, answer{status: http.StatusServiceUnavailable})
	out, err := bring(t, f, plan.After(states.EventInspect))
	require.NoError(t, err)
	require.Equal(t, []string{"inspect"}, f.verbs())
	require.Contains(t, out, "requests accepted: 1, refused for a while: 2")
}

func TestANodeThatCannotComeToItsGoal(t *testing.T) {
	tests := map[string]struct {
		from   states.State
		goal   plan.Goal
		change func(*options)
		want   string
	}{
		"without permission no workload is destroyed": {states.Active, plan.In(states.Available), nil,
			"node-1 has not come to available (last seen in active): blocked: needs destroy, before deleted; see -may-destroy"},
		"without permission nothing is tried again": {states.DeployFail, plan.In(states.Active), nil,
			"blocked: needs retry of deploying, before active; look at the node, or see -retries"},
		"what is held wants a person": {states.CleanHold, plan.In(states.Available), nil,
			"blocked: needs unhold of cleaning, before unhold; let it go on, or see -may-abort"},
		"an old version lacks the verb": {states.Active, plan.After(states.EventService),
			func(o *options) { o.version = 81 }, "blocked: needs version, before service with service_steps; see -api"},
		"there is no way": {states.Active, plan.In(states.Error),
			func(o *options) { o.policy.MayDestroy = true }, "blocked: no route"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := start(t, conductor.Node{ProvisionState: test.from})
			change := test.change
			if change == nil {
				change = func(*options) {}
			}
			out, err := bring(t, f, test.goal, change)
			require.ErrorContains(t, err, test.want)
			require.Contains(t, out, "blocked: ")
			require.Empty(t, f.verbs())
			require.Equal(t, test.from, f.state())
			var blocked *blockedError
			require.ErrorAs(t, err, &blocked)
		})
	}
}

func TestRetriesAreCounted(t *testing.T) {
	f := start(t, conductor.Node{ProvisionState: states.Available})
	for range 3 {
		f.Next(f.node, "deploy.deploy", func(context.Context) error { return errors.New("out of order") })
	}
	_, err := bring(t, f, plan.In(states.Active), func(o *options) { o.policy.Retries = 2 })
	require.ErrorContains(t, err, "needs retry of deploying")
	require.Equal(t, []string{"active", "active", "active"}, f.verbs())
}

func TestHeldWorkIsAbortedIfPermitted(t *testing.T) {
	f := start(t, conductor.Node{ProvisionState: states.DeployHold})
	out, err := bring(t, f, plan.In(states.Available), func(o *options) {
		o.policy.MayAbort, o.policy.MayDestroy = true, true
	})
	require.NoError(t, err, out)
	require.Equal(t, states.Available, f.state())
}

func TestANodeInMaintenance(t *testing.T) {
	t.Run("is not deployed", func(t *testing.T) {
		f := start(t, conductor.Node{ProvisionState: states.Available, Maintenance: true, MaintenanceReason: "a person\nis at it"})
		_, err := bring(t, f, plan.In(states.Active))
		require.EqualError(t, err, "node-1 has not come to active (last seen in available): "+
			"blocked: refused by maintenance, before active; the reason for it: a person is at it")
		require.Empty(t, f.verbs())
	})
	t.Run("is managed", func(t *testing.T) {
		f := start(t, conductor.Node{ProvisionState: states.Enroll, Maintenance: true, MaintenanceReason: "why not"})
		_, err := bring(t, f, plan.In(states.Manageable))
		require.NoError(t, err)
		require.Equal(t, []string{"manage"}, f.verbs())
	})
	t.Run("at its goal", func(t *testing.T) {
		f := start(t, conductor.Node{ProvisionState: states.Active, Maintenance: true, MaintenanceReason: "why not"})
		out, err := bring(t, f, plan.In(states.Active))
		require.NoError(t, err)
		require.Contains(t, out, "done, in maintenance")
	})
}

// The client waits for the work, even if the node waits for a call-back meanwhile.
func TestWorkIsWaitedFor(t *testing.T) {
	f := start(t, conductor.Node{ProvisionState: states.Available})
	f.Next(f.node, "deploy.deploy", func(ctx context.Context) error {
		if err := f.AwaitRead(ctx, f.node); err != nil {
			return err
		}
		return conductor.ErrWait
	})
	waited := make(chan error, 1)
	go func() {
		var err error
		for err == nil && f.state() != states.DeployWait {
			err = f.AwaitRead(t.Context(), f.node)
		}
		waited <- errors.Join(err, f.AwaitRead(t.Context(), f.node), f.Conductor.Resume(t.Context(), "node-1", nil))
	}()
	out, err := bring(t, f, plan.In(states.Active))
	require.NoError(t, err)
	require.NoError(t, <-waited)
	require.Contains(t, out, "deploying       active      wait for deploying to end in active\n")
	require.Contains(t, out, "wait call-back  active      wait for deploying to end in active, after a call from the node\n")
}

func TestAStateOfANewerIronic(t *testing.T) {
	f := start(t, conductor.Node{})
	f.rewrite(`"enroll"`, `"levitating"`, `"target_provision_state":null`, `"target_provision_state":"orbit"`, "1.113", "1.500")
	code, out, errOut := command(t, "", "-endpoint", f.URL, "-node", "node-1")
	require.Equal(t, program.Failed, code)
	require.Contains(t, out, "Ironic speaks API 1.1 to 1.500, asked in 1.113")
	require.Equal(t, "reconcile: node-1 has not come to active (last seen in levitating): "+
		"blocked: no route out of \"levitating\": Ironic is newer than this program\n", errOut)
}

func TestAStateIsPrintedWithoutControlCharacters(t *testing.T) {
	f := start(t, conductor.Node{})
	f.rewrite(`"enroll"`, `"levi\u001b[31mtating"`)
	code, out, errOut := command(t, "", "-endpoint", f.URL, "-node", "node-1")
	require.Equal(t, program.Failed, code)
	require.Contains(t, out, "levi [31mtating")
	require.NotContains(t, out+errOut, "\x1b")
}

func TestTheTimeIsLimited(t *testing.T) {
	tests := map[string]func(*fixture){
		"work that does not end":    func(f *fixture) { f.Next(f.node, "verify", forever) },
		"a wait that is asked for":  func(f *fixture) { f.refuse("manage", answer{status: 503, retryAfter: "30"}) },
		"a server that is slow now": func(f *fixture) { f.refuse("GET", answer{status: 409, retryAfter: "30"}) },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			f := start(t, conductor.Node{})
			change(f)
			_, err := bring(t, f, plan.In(states.Manageable), func(o *options) {
				o.timeout, o.backoff.longest = 300*time.Millisecond, time.Hour
			})
			require.ErrorContains(t, err, "no end in 300ms")
		})
	}
}

func TestTheTimeLimitEndsTheWaitForAnAnswer(t *testing.T) {
	f := start(t, conductor.Node{})
	f.Wrap(func(http.Handler) http.Handler {
		return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	})
	code, _, errOut := command(t, "", "-endpoint", f.URL, "-node", "node-1", "-timeout", "100ms")
	require.Equal(t, program.Failed, code)
	require.Equal(t, "reconcile: node-1 has not come to active: no end in 100ms\n", errOut)
}

func TestARefusedConnectionIsNotRetried(t *testing.T) {
	ironic, err := conductortest.Start(conductortest.Config{})
	require.NoError(t, err)
	ironic.Close()
	code, out, errOut := command(t, "", "-endpoint", ironic.URL, "-node", "node-1")
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
	f := start(t, conductor.Node{})
	_, err := bring(t, f, plan.In(states.Active), func(o *options) { o.node = "node-2" })
	require.EqualError(t, err, "node-2 has not come to active: look at the node: 404 Not Found: Node node-2 could not be found.")
}
