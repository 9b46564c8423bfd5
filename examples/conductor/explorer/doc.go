// Package explorer serves the explorer of the state machine with a conductor's nodes
// in it, live: how many are in each state, which ones, what moves, and for a node why
// it is where it is. Its paths are below /explorer/, and "/" for clients that prefer
// HTML; all of them read only, and none shows what a node's driver is told.
//
//	GET /                       the page
//	GET /explorer/events        server-sent events: the counts, and what has moved
//	GET /explorer/nodes         a page of nodes, by state and by a part of their name
//	GET /explorer/nodes/IDENT   a node, its history and the explanation
package explorer

//go:generate go run ../../../graph/cmd/stategraph -format html -style explorer/live.css -script explorer/live.js -o page.html
