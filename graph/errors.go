package graph

import "errors"

var (
	// ErrNoTransition: the table lacks a transition of a path.
	ErrNoTransition = errors.New("no such transition")
	// ErrLink: a state's link is neither a path nor an http or https URL.
	ErrLink = errors.New("unfit link")
	// ErrSince: the series to compare with is newer than the diagram's.
	ErrSince = errors.New("not an older series")
)
