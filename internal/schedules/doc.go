// SPDX-License-Identifier: Apache-2.0

// Package schedules runs concurrent code in every schedule within bounds, for tests. A [Run] is one execution of the
// code in a bubble of testing/synctest, in which each goroutine stops at its calls of foreign code until a [Choice]
// lets it go on. [Search] tries every sequence of choices; [Repeat] takes a given one, and [Shrink] leaves out the
// choices that a failure does not need. [Gate] stops the goroutines of a Run that has no needs of its own.
package schedules
