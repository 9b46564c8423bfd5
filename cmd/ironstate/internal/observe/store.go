// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ironstate/ironstate/conductor"
)

// storeMetrics are the metrics of the requests to the store.
type storeMetrics struct {
	requests  *prometheus.CounterVec
	durations *prometheus.HistogramVec
}

func newStoreMetrics() storeMetrics {
	m := storeMetrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "conductor_store_requests_total",
			Help: "Requests to the store, by operation and result. A conflict is a compare-and-set that lost against another write " +
				"and is retried; after an error of a watch, another watch is started.",
		}, []string{"operation", "result"}),
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "conductor_store_request_duration_seconds", Help: "Duration of requests to the store, by operation.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 4, 9),
		}, []string{"operation"}),
	}
	for _, operation := range []string{"get", "list", "create", "update", "delete", "watch"} {
		for _, result := range []string{"ok", "not_found", "conflict", "duplicate", "canceled", "no_space", "error"} {
			m.requests.WithLabelValues(operation, result) // initialized to 0, so that rate() includes the first
		}
	}
	return m
}

// measuredStore counts and times the requests to a store.
type measuredStore struct {
	conductor.Store
	storeMetrics
	noSpace error
}

// Store returns the store with metrics of its requests. noSpace is its error for a write that it refuses for the want
// of space, nil for none.
func (m *Metrics) Store(s conductor.Store, noSpace error) conductor.Store {
	return measuredStore{s, m.store, noSpace}
}

// result returns the label value for an error of the store.
func (s measuredStore) result(err error) string {
	var duplicate *conductor.DuplicateError
	switch {
	case err == nil:
		return "ok"
	case errors.Is(err, conductor.NotFound):
		return "not_found"
	case errors.Is(err, conductor.ErrConflict):
		return "conflict"
	case errors.As(err, &duplicate):
		return "duplicate"
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.Is(err, s.noSpace):
		return "no_space"
	default:
		return "error"
	}
}

// done counts a request that has ended.
func (s measuredStore) done(operation string, start time.Time, err error) {
	s.requests.WithLabelValues(operation, s.result(err)).Inc()
	s.durations.WithLabelValues(operation).Observe(time.Since(start).Seconds())
}

// Get implements [conductor.Store].
func (s measuredStore) Get(ctx context.Context, kind conductor.Kind, key string) (r conductor.Record, err error) {
	defer func(start time.Time) { s.done("get", start, err) }(time.Now())
	return s.Store.Get(ctx, kind, key)
}

// List implements [conductor.Store].
func (s measuredStore) List(ctx context.Context, kind conductor.Kind, after string, limit int) (page []conductor.Record, err error) {
	defer func(start time.Time) { s.done("list", start, err) }(time.Now())
	return s.Store.List(ctx, kind, after, limit)
}

// Create implements [conductor.Store].
func (s measuredStore) Create(ctx context.Context, r conductor.Record) (revision int64, err error) {
	defer func(start time.Time) { s.done("create", start, err) }(time.Now())
	return s.Store.Create(ctx, r)
}

// Update implements [conductor.Store].
func (s measuredStore) Update(ctx context.Context, r conductor.Record) (revision int64, err error) {
	defer func(start time.Time) { s.done("update", start, err) }(time.Now())
	return s.Store.Update(ctx, r)
}

// Delete implements [conductor.Store].
func (s measuredStore) Delete(ctx context.Context, kind conductor.Kind, id string, revision int64) (deletion int64, err error) {
	defer func(start time.Time) { s.done("delete", start, err) }(time.Now())
	return s.Store.Delete(ctx, kind, id, revision)
}

// Watch implements [conductor.Store]. It counts a watch when it ends.
func (s measuredStore) Watch(ctx context.Context, kind conductor.Kind) iter.Seq2[conductor.Change, error] {
	return func(yield func(conductor.Change, error) bool) {
		var failure error
		defer func() { s.requests.WithLabelValues("watch", s.result(failure)).Inc() }()
		for change, err := range s.Store.Watch(ctx, kind) {
			if err != nil {
				failure = err
			}
			if !yield(change, err) {
				return
			}
		}
	}
}
