// SPDX-License-Identifier: Apache-2.0

// Package observe lets operators watch a conductor: it has [Metrics] for Prometheus, the [Readiness] for load balancers
// and supervisors, and [Tracing], which sends the spans of the conductor's work to an OpenTelemetry collector.
package observe
