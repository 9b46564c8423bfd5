// SPDX-License-Identifier: Apache-2.0

package conductor

import "github.com/ironstate/ironstate/states"

// workTexts are Ironic's words and texts for a kind of work.
type workTexts struct {
	// eventType is the event_type of a failure in the history, and orphanType if the process that did the work has died.
	eventType, orphanType string
	// operation is the word for the work in the refusal of a request, empty if there is no such refusal. noun is the word
	// in errors.
	operation, noun string
	// flow is the word for the steps in the history, empty if their begin and end have no entries. automatedFlow is flow
	// for work that the conductor begins by itself, empty if it never does.
	flow, automatedFlow string
	// stepFailed is the text for a step that has failed in the conductor; nil for a plain one. The text for a step that
	// has failed in the agent is of [agent.Judge].
	stepFailed func(*stepError) string
	// timedOut is the last error after a wait without a call-back. {node} stands for the node and {step} for its step.
	timedOut string
	// former has what timedOut and the event_type of that failure were before a series.
	former formerTimeout
	// inMaintenance is the beginning of the last error of work that a heartbeat ends during maintenance, empty if the work
	// waits until the maintenance ends.
	inMaintenance string
	// progress is the text for an agent that does not tell how far its step is.
	progress string
	cleanUp  cleanUpTexts
}

// cleanUpTexts are the texts for a failed clean-up after failed work.
type cleanUpTexts struct {
	// added, with the node and the reason, is added to the last error; empty for a plain text. instead, with the reason,
	// replaces the last error.
	added, instead string
	// After an abort that CleanUp notes, aborted is the word for the work in the last error, and abortFault the fault with
	// which the node is put into maintenance, empty if it is not.
	aborted, abortFault string
}

// formerTimeout is the last error and the event_type after a wait without a call-back before a series.
type formerTimeout struct {
	until               states.Series
	timedOut, eventType string
}

// timeout returns the last error and the event_type after a wait without a call-back.
func (t *workTexts) timeout(series states.Series) (text, eventType string) {
	if series < t.former.until {
		return t.former.timedOut, t.former.eventType
	}
	return t.timedOut, t.eventType
}
