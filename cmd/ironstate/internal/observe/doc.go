// SPDX-License-Identifier: Apache-2.0

// Package observe tells operators of a conductor: its [Metrics] in Prometheus's format, its [Readiness] for load balancers
// and supervisors, and its [Tracing], the spans of its work for an OpenTelemetry collector.
package observe
