// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api"
	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/states"
)

// directed is a scripted membership: it yields the other members that the test sends, or ends with
// the error.
type directed struct {
	steps chan directive

	mu    sync.Mutex
	alive map[string]bool
}

type directive struct {
	others []conductor.Member
	err    error
}

func (d *directed) Join(ctx context.Context, self conductor.Member) iter.Seq2[[]conductor.Member, error] {
	return func(yield func([]conductor.Member, error) bool) {
		for {
			select {
			case <-ctx.Done():
				return
			case step := <-d.steps:
				if !yield(append([]conductor.Member{self}, step.others...), step.err) || step.err != nil {
					return
				}
			}
		}
	}
}

func (d *directed) Alive(_ context.Context, id string) (bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.alive[id], nil
}

func (d *directed) Holds(string) bool { return true }

func (d *directed) dies(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.alive, id)
}

// measuredService is a conductor with metrics.
type measuredService struct {
	*conductor.Conductor
	t       *testing.T
	metrics *Metrics
	handler http.Handler
	store   conductor.Store
}

// measure runs a conductor called alpha until the test ends. Deployments of its nodes block until
// goOn is closed.
func measure(
	t *testing.T, store conductor.Store, membership conductor.Membership, goOn chan struct{}, change ...func(*conductor.Config),
) *measuredService {
	s := &measuredService{t: t, metrics: NewMetrics(), store: store}
	fake := &conductor.Fake{Before: func(ctx context.Context, _ *conductor.Node, operation string) error {
		if operation != "deploy.deploy" {
			return nil
		}
		select {
		case <-goOn:
		case <-ctx.Done():
		}
		return ctx.Err()
	}}
	config := conductor.Config{
		Store: s.metrics.Store(store, nil), Membership: membership, Name: "alpha", LockedRetries: -1,
		Hardware: map[string]conductor.Hardware{"fake-hardware": fake}, OnTransition: s.metrics.Observe, ShutdownTimeout: time.Millisecond,
	}
	for _, change := range change {
		change(&config)
	}
	var err error
	s.Conductor, err = conductor.New(config)
	require.NoError(t, err)
	s.handler = s.metrics.Around(api.New(s.Conductor, api.Config{}), s.Conductor)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
	return s
}

func (s *measuredService) get(path string) string {
	s.t.Helper()
	answer := httptest.NewRecorder()
	s.handler.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, nil))
	require.Equal(s.t, http.StatusOK, answer.Code)
	text, err := io.ReadAll(answer.Body)
	require.NoError(s.t, err)
	return string(text)
}

// value returns the value of a series in /metrics, -1 if it is absent.
func (s *measuredService) value(series string) float64 {
	s.t.Helper()
	_, rest, found := strings.Cut("\n"+s.get("/metrics"), "\n"+series+" ")
	if !found {
		return -1
	}
	text, _, _ := strings.Cut(rest, "\n")
	value, err := strconv.ParseFloat(text, 64)
	require.NoError(s.t, err)
	return value
}

// becomes waits in a bubble until a series has a value.
func (s *measuredService) becomes(series string, want float64) {
	s.t.Helper()
	for synctest.Wait(); s.value(series) != want; synctest.Wait() {
		time.Sleep(time.Millisecond) // of the bubble
	}
}

func (s *measuredService) node(n conductor.Node) *conductor.Node {
	s.t.Helper()
	n.Driver = "fake-hardware"
	created, err := s.CreateNode(s.t.Context(), &n)
	require.NoError(s.t, err)
	return created
}

func TestMetricsOfAMemberThatDies(t *testing.T) { synctest.Test(t, metricsOfAMemberThatDies) }

func metricsOfAMemberThatDies(t *testing.T) {
	beta := conductor.Member{ID: "beta's", Hostname: "beta", Drivers: []string{"another"}}
	members := &directed{steps: make(chan directive), alive: map[string]bool{beta.ID: true}}
	s := measure(t, &conductor.Memory{}, members, nil)
	require.Equal(t, 0.0, s.value("conductor_members"))
	members.steps <- directive{others: []conductor.Member{beta}}
	s.becomes("conductor_members", 2)
	require.Equal(t, 1.0, s.value("conductor_joins_total"))

	s.node(conductor.Node{ProvisionState: states.Deploying, Reservation: "beta", Claim: beta.ID})
	s.node(conductor.Node{ProvisionState: states.Active, ConductorGroup: "nobody's"})
	require.Equal(t, 1.0, s.value("conductor_nodes_owned"))
	require.Equal(t, 1.0, s.value("conductor_nodes_without_conductor"))
	require.Equal(t, 1.0, s.value("conductor_nodes_reserved"))
	require.Zero(t, s.value("conductor_reservations_dropped_total"))

	members.dies(beta.ID)
	members.steps <- directive{}
	s.becomes("conductor_reservations_dropped_total", 1)
	s.becomes(`conductor_transitions_total{from="deploying",to="deploy failed"}`, 1)
	require.Equal(t, 1.0, s.value("conductor_members"))
	require.Zero(t, s.value("conductor_nodes_reserved"))

	members.steps <- directive{err: errors.New("the lease has ended")}
	s.becomes("conductor_memberships_lost_total", 1)
	require.Zero(t, s.value("conductor_members"))
	require.Zero(t, s.value("conductor_nodes_owned"))
	require.Zero(t, s.value("conductor_nodes_without_conductor"), "who is cut off does not know")
	members.steps <- directive{err: errors.New("nobody answers")}
	s.becomes("conductor_join_failures_total", 1)
	members.steps <- directive{}
	s.becomes("conductor_joins_total", 2)
}

func TestMetricsOfTheAgeOfWorkAndBusyWorkers(t *testing.T) {
	synctest.Test(t, metricsOfTheAgeOfWorkAndBusyWorkers)
}

func metricsOfTheAgeOfWorkAndBusyWorkers(t *testing.T) {
	goOn := make(chan struct{})
	s := measure(t, &conductor.Memory{}, nil, goOn, func(c *conductor.Config) {
		c.ExpectedTimes = conductor.ExpectedTimes{states.DeployWait: 2 * time.Hour}
	})
	require.NoError(t, s.Ready(t.Context()))
	since := time.Now().Add(-time.Hour)
	s.node(conductor.Node{ProvisionState: states.CleanWait, ProvisionUpdatedAt: &since, Maintenance: true})
	s.node(conductor.Node{ProvisionState: states.CleanWait, Maintenance: true})
	s.node(conductor.Node{ProvisionState: states.DeployWait, ProvisionUpdatedAt: &since, Maintenance: true}) // it does not time out
	n := s.node(conductor.Node{ProvisionState: states.Available})
	require.GreaterOrEqual(t, s.value(`conductor_state_age_seconds{provision_state="clean wait"}`), 3600.0)
	require.Zero(t, s.value(`conductor_state_age_seconds{provision_state="deploying"}`))
	require.Equal(t, -1.0, s.value(`conductor_state_age_seconds{provision_state="available"}`), "nobody works there")
	require.Equal(t, 1.0, s.value(`conductor_nodes_overdue{provision_state="clean wait"}`))
	require.Zero(t, s.value(`conductor_nodes_overdue{provision_state="wait call-back"}`), "two hours are expected")
	require.Equal(t, -1.0, s.value(`conductor_nodes_overdue{provision_state="available"}`))
	require.Equal(t, 3.0, s.value("conductor_nodes_in_maintenance"))

	require.NoError(t, s.Provision(t.Context(), n.UUID, conductor.ProvisionRequest{Target: "active"}))
	require.Equal(t, 1.0, s.value("conductor_workers_busy"))
	require.Equal(t, 300.0, s.value("conductor_workers"))
	require.Equal(t, 1.0, s.value("conductor_nodes_reserved"))
	time.Sleep(time.Minute)
	require.Equal(t, 60.0, s.value(`conductor_state_age_seconds{provision_state="deploying"}`))
	close(goOn)
	s.becomes(`conductor_nodes{provision_state="active"}`, 1)
	s.becomes("conductor_workers_busy", 0)
}

func TestMetricsOfConflictsAndErrorsOfTheStore(t *testing.T) {
	synctest.Test(t, metricsOfConflictsAndErrorsOfTheStore)
}

func metricsOfConflictsAndErrorsOfTheStore(t *testing.T) {
	store := &conductor.Memory{}
	s := measure(t, store, nil, nil)
	require.NoError(t, s.Ready(t.Context()))
	conflicts := `conductor_store_requests_total{operation="update",result="conflict"}`
	require.Zero(t, s.value(conflicts), "it is there before the first")
	n := s.node(conductor.Node{ProvisionState: states.Enroll})
	once := false
	_, err := s.UpdateNode(t.Context(), n.UUID, func(n *conductor.Node) error {
		if !once { // another write comes first
			once = true
			r, err := store.Get(t.Context(), conductor.KindNode, n.UUID)
			require.NoError(t, err)
			_, err = store.Update(t.Context(), r)
			require.NoError(t, err)
		}
		n.Description = "changed"
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, 1.0, s.value(conflicts))
	_, err = s.CreateNode(t.Context(), &conductor.Node{UUID: n.UUID, Driver: "fake-hardware", ProvisionState: states.Enroll})
	require.ErrorIs(t, err, conductor.Exists)
	require.Equal(t, 1.0, s.value(`conductor_store_requests_total{operation="create",result="duplicate"}`))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.Error(t, s.DeleteNode(ended, n.UUID))
	require.NoError(t, s.DeleteNode(t.Context(), n.UUID))
	require.Equal(t, 1.0, s.value(`conductor_store_requests_total{operation="delete",result="ok"}`))
	require.Positive(t, s.value(`conductor_store_request_duration_seconds_count{operation="update"}`))
}

func TestMetricsOfThePowerSync(t *testing.T) { synctest.Test(t, metricsOfThePowerSync) }

func metricsOfThePowerSync(t *testing.T) {
	broken := &conductor.Fake{Before: func(_ context.Context, _ *conductor.Node, operation string) error {
		if operation == "read power" {
			time.Sleep(2 * time.Millisecond)
			return errors.New("no answer")
		}
		return nil
	}}
	s := measure(t, &conductor.Memory{}, nil, nil, func(c *conductor.Config) {
		c.Hardware["fake-hardware"] = broken
		c.Power = powersync.Config{Interval: time.Millisecond, Workers: 1, Policy: powersync.Policy{MaxRetries: 2}}
	})
	require.NoError(t, s.Ready(t.Context()))
	const outcomes = "conductor_power_sync_nodes_total"
	require.Zero(t, s.value(outcomes+`{outcome="into_maintenance"}`), "it is there before the first")
	s.node(conductor.Node{ProvisionState: states.Active, Power: states.PowerOn})
	s.becomes(outcomes+`{outcome="read_failed"}`, 1)
	require.Equal(t, 0.002, s.value("conductor_power_sync_last_round_duration_seconds"))
	s.becomes(outcomes+`{outcome="into_maintenance"}`, 1)
	require.Equal(t, 2.0, s.value(outcomes+`{outcome="read_failed"}`))
	require.Positive(t, s.value("conductor_power_sync_overruns_total"))
	require.Positive(t, s.value("conductor_power_sync_rounds_total"))
	require.Equal(t, 1.0, s.value("conductor_nodes_in_maintenance"))
}

func TestMetricsKeepPrometheusConventions(t *testing.T) {
	synctest.Test(t, metricsKeepPrometheusConventions)
}

func metricsKeepPrometheusConventions(t *testing.T) {
	s := measure(t, &conductor.Memory{}, nil, nil)
	require.NoError(t, s.Ready(t.Context()))
	n := s.node(conductor.Node{Name: "a-node-of-mine", ProvisionState: states.Enroll})
	s.get("/v1/nodes/" + n.UUID)
	problems, err := testutil.GatherAndLint(s.metrics.registry)
	require.NoError(t, err)
	require.Empty(t, problems)
	require.NotContains(t, s.get("/metrics"), n.Name)
	require.NotContains(t, s.get("/metrics"), n.UUID)
}

func TestAWriteThatTheStoreRefusesForTheWantOfSpaceHasAResultOfItsOwn(t *testing.T) {
	full := errors.New("the disk is full")
	require.Equal(t, "no_space", measuredStore{noSpace: full}.result(fmt.Errorf("create nodes n: %w", full)))
	require.Equal(t, "error", measuredStore{}.result(full))
}
