// SPDX-License-Identifier: Apache-2.0

// Package observe shows operators what a conductor does: [Metrics] for Prometheus, the [Readiness] for load balancers
// and supervisors, and by [Tracing] the spans of its work for an OpenTelemetry collector.
package observe
