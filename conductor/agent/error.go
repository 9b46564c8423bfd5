// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ironstate/ironstate/internal/errtext"
	"github.com/ironstate/ironstate/internal/masked"
)

// The reasons of an [Error].
var (
	// ErrBusy: the agent executes another command. Try again after the next heartbeat.
	ErrBusy = errors.New("the agent is busy")
	// ErrConnection: no answer came. The agent may have received the command.
	ErrConnection = errors.New("no answer of the agent")
	// ErrRefused: the agent has refused the command with an HTTP status, or with a Python TypeError for an unknown
	// parameter.
	ErrRefused = errors.New("the agent has refused the command")
	// ErrFailed: the agent has executed the command, and the command has failed.
	ErrFailed = errors.New("the command has failed")
	// ErrAnswer: the answer is too large, or no agent would give it.
	ErrAnswer = errors.New("the answer of the agent is invalid")
	// ErrTimeout: the command still runs after the last poll.
	ErrTimeout = errors.New("the command takes too long")
)

// Error reports that the agent has not confirmed a command. The reasons say whether it may have received the command,
// and whether the command may still run. Error matches its Reason.
type Error struct {
	Reason error  // one of the reasons above
	Text   string // as Ironic says it, without the token
	Status int    // the HTTP status of an error that matches ErrBusy or ErrRefused
	Err    error  // the cause of an error that matches ErrConnection
}

func (e *Error) Error() string { return e.Text }

// Unwrap returns the reason and the cause.
func (e *Error) Unwrap() []error { return []error{e.Reason, e.Err} }

// failure returns an error whose text contains no token and is fit for a node's last error.
func (c *Client) failure(reason error, status int, cause error, format string, args ...any) *Error {
	return &Error{Reason: reason, Text: c.clean(fmt.Sprintf(format, args...)), Status: status, Err: cause}
}

// invalidAnswer returns the error of an answer that no agent would give.
func (c *Client) invalidAnswer(format string, args ...any) *Error {
	return c.failure(ErrAnswer, 0, nil, format, args...)
}

// clean returns a text of the agent without the token and without control characters, of at most 2048 bytes.
func (c *Client) clean(text string) string {
	if token := c.config.Token.Reveal(); token != "" {
		text = strings.ReplaceAll(text, token, masked.Secret)
	}
	return errtext.Clean(text)
}
