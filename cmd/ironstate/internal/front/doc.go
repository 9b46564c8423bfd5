// SPDX-License-Identifier: Apache-2.0

// Package front serves HTTP to clients that nobody trusts. A [Server] bounds the connections, streams and headers of
// clients and the time that they take, with the [Limits] that it shares with other servers, and refuses requests whose
// length two programs could read in two ways. Around the handler, [Users.Guard] admits only users with a password, and
// compares few passwords at a time; [ForHosts] admits only requests for the names of the service.
//
//	limits := front.NewLimits()
//	server, err := front.Listen("127.0.0.1:6385", users.Guard(isPublic, api), front.Config{Limits: limits, Log: log})
package front
