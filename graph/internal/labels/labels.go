// SPDX-License-Identifier: Apache-2.0

// Package labels is how package render asks package graph for other labels.
package labels

import "io"

// WithoutNotes is a writer to which a diagram is written in DOT without "(via API)" and "(also via API)" in the labels
// of edges: the colours of words and lines say it too, and shorter labels leave room for the drawing.
type WithoutNotes struct{ io.Writer }
