// SPDX-License-Identifier: Apache-2.0

// Package differ sends the same random requests to a real Ironic and to this module's
// conductor, over the whole API, and counts the answers that differ.
//
// A [Run] has workers. Each worker has its own Ironic, its own conductor and its own
// random numbers, and works in rounds: a round starts with empty databases, creates some
// objects, and then sends requests. The seed of a run and the number of a round
// determine the round's requests. After a request that writes, the worker waits until no
// node has work, and compares the records on both sides. It brings a record that differs
// back into step, so that one difference does not cause others.
//
// Differences are counted by class: the request's method and path with placeholders,
// and the difference. [Known] lists the classes that are intended, with reasons.
//
// The data are in files: requests.txt has the requests with their weights, fields.txt the fields of all objects and
// their values, and values.json other values and the data of the wide requests, which a reader of Ironic's API
// reference would send: lives of nodes, each field with each kind of value, all parameters of a list together, and each
// path below a node by each method and each name. compare.json says which headers are compared, and which parts of
// texts and lists are not.
package differ
