// SPDX-License-Identifier: Apache-2.0

// Package explorer serves an interactive page of the state machine with a conductor's nodes in it,
// live: lists of nodes with the overdue ones first, transitions as they happen, for a node an
// explanation of its state and a timeline with durations, and the number of nodes in each state of the
// diagram, which a narrow page leaves out. Its paths are below /explorer/, and "/" for clients that prefer
// HTML. All paths are read-only, and none discloses driver_info.
//
//	GET /                       the page
//	GET /explorer/events        server-sent events: counts and transitions
//	GET /explorer/nodes         a page of nodes, filtered by state, part of the name, failed, maintenance and overdue
//	GET /explorer/nodes/IDENT   a node with its history and explanation
package explorer

//go:generate go run ../../stategraph -format html -title Nodes -style explorer/live.css -script explorer/live.js -o page.html
