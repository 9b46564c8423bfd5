// SPDX-License-Identifier: Apache-2.0

// Package docs keeps states.md, a page of documentation, up to date: go generate draws
// the newest series' machine, and writes the picture and the states between two marker
// lines of the page.
package docs

//go:generate go run ../../cmd/stategraph -o states.svg
//go:generate go run ../../cmd/stategraph -splice states.md -picture states.svg
