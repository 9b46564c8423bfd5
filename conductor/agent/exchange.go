// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/ironstate/ironstate/internal/errtext"
	"github.com/ironstate/ironstate/internal/fence"
	"github.com/ironstate/ironstate/internal/sleep"
)

// Commands returns the last commands that the agent has received since it started, the oldest first: at most 200, whose
// texts have at most 96 KiB together. Only the last one has its result. A request without an answer is sent again, as
// often as Config.Attempts says.
func (c *Client) Commands(ctx context.Context) (commands []Command, err error) {
	for range c.config.Attempts {
		if commands, err = c.list(ctx); !errors.Is(err, ErrConnection) || ctx.Err() != nil {
			break
		}
	}
	return commands, err
}

// list asks once for the commands.
func (c *Client) list(ctx context.Context) ([]Command, error) {
	var answer struct{ Commands []Command }
	err := c.exchange(ctx, http.MethodGet, nil, nil, func(status int, body []byte) error {
		if status != http.StatusOK {
			return c.refusal("get_commands_status", status, body)
		}
		if err := json.Unmarshal(body, &answer); err != nil {
			return c.undecodable(http.StatusOK, err)
		}
		if answer.Commands == nil {
			return c.invalidAnswer("The answer of the agent on node %s has no list of commands.", c.config.Node)
		}
		var err error
		answer.Commands, err = c.last(answer.Commands)
		return err
	})
	if err != nil {
		return nil, c.explain(ctx, err, "to collect commands status")
	}
	return answer.Commands, nil
}

// explain returns the error that callers get for a failed exchange: the refusal of the permission, the agent's [Error],
// the end of the context, or an Error which says that the agent did not answer. purpose has Ironic's words.
func (c *Client) explain(ctx context.Context, err error, purpose string) error {
	var refused *permissionError
	var failure *Error
	switch {
	case errors.As(err, &refused):
		return refused.error
	case errors.As(err, &failure):
		return err
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return c.failure(ErrConnection, 0, err, "Connection to agent failed: Failed to connect to the agent running on node %s %s. Error: %v",
		c.config.Node, purpose, err)
}

// send sends a command: {"name": method, "params": params}. With wait the agent answers when it has executed the
// command. If no answer comes, send asks for the commands: if the last one is this command and it runs, that is the
// answer. Otherwise it sends the command again, as often as Config.Attempts says.
func (c *Client) send(ctx context.Context, method string, params any, wait bool) (Command, error) {
	return c.sendUnlessArrived(ctx, method, params, wait, func(last Command) bool {
		return last.Name == short(method) && last.Status == Running
	})
}

// succeed is send for a command that must have succeeded.
func (c *Client) succeed(ctx context.Context, method string, params any, wait bool) (Command, error) {
	command, err := c.send(ctx, method, params, wait)
	if err == nil {
		err = c.failed(method, command)
	}
	return command, err
}

// sendUnlessArrived is send for a command that arrived recognizes if it is the last one in the agent's list. An agent
// that is busy after a request without an answer may be executing the command of that request.
func (c *Client) sendUnlessArrived(
	ctx context.Context, method string, params any, wait bool, arrived func(last Command) bool,
) (command Command, err error) {
	body, err := json.Marshal(map[string]any{"name": method, "params": params})
	if err != nil {
		return Command{}, fmt.Errorf("agent: encode the command %s: %w", method, err)
	}
	for attempt := range c.config.Attempts {
		command, err = c.post(ctx, method, body, wait)
		unanswered := errors.Is(err, ErrConnection)
		if ctx.Err() != nil || !unanswered && (attempt == 0 || !errors.Is(err, ErrBusy)) {
			break
		}
		if commands, failure := c.Commands(ctx); failure == nil && len(commands) > 0 {
			if last := commands[len(commands)-1]; arrived(last) {
				return last, nil
			}
		}
		if !unanswered {
			break
		}
	}
	return command, err
}

// post sends a command once.
func (c *Client) post(ctx context.Context, method string, body []byte, wait bool) (Command, error) {
	var command Command
	err := c.exchange(ctx, http.MethodPost, url.Values{"wait": {strconv.FormatBool(wait)}}, body, func(status int, body []byte) error {
		if status >= http.StatusMultipleChoices {
			return c.refusal(method, status, body)
		}
		if err := json.Unmarshal(body, &command); err != nil {
			return c.undecodable(status, err)
		}
		checked, err := c.last([]Command{command})
		if err != nil {
			return err
		}
		command = checked[0]
		return c.typeError(command)
	})
	if err != nil {
		err = c.explain(ctx, err, "for invoking command "+method)
	}
	return command, err
}

// poll is send without wait for a command that takes long: it asks for the command until it has ended. The error
// matches [ErrTimeout] after the last of Config.Polls questions.
func (c *Client) poll(ctx context.Context, method string, params any) (Command, error) {
	sent, err := c.send(ctx, method, params, false)
	if err != nil || sent.Status != Running {
		return sent, err
	}
	for range c.config.Polls {
		sleep.For(ctx, c.config.PollInterval)
		commands, err := c.Commands(ctx)
		if err != nil {
			return Command{}, err
		}
		for i := len(commands) - 1; i >= 0; i-- {
			if commands[i].Name != short(method) {
				continue
			}
			if commands[i].Status != Running {
				return commands[i], c.typeError(commands[i])
			}
			break
		}
	}
	return Command{}, c.failure(ErrTimeout, 0, nil, "Timeout executing command %s on node %s", method, c.config.Node)
}

// permissionError is the refusal of the context's permission to send a command.
type permissionError struct{ error }

// permitted is the body of a command. Each Read asks for the permission to send it: the connection is open then, and
// without its whole body the agent executes nothing.
type permitted struct {
	*bytes.Reader
	ctx context.Context
}

func (p permitted) Read(part []byte) (int, error) {
	if err := fence.Check(p.ctx); err != nil {
		return 0, &permissionError{err}
	}
	return p.Reader.Read(part)
}

// exchange sends one request, and calls decode with the status and the body of the answer, whose error it returns. The
// body of a command is nil for a question. The error matches ErrAnswer for an answer that exceeds a bound, and contains
// no URL.
func (c *Client) exchange(
	ctx context.Context, method string, query url.Values, command []byte, decode func(status int, body []byte) error,
) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(c.config.Timeout, func() { cancel(fmt.Errorf("no answer within %v", c.config.Timeout)) })
	defer timer.Stop()
	if token := c.config.Token.Reveal(); token != "" {
		if query == nil {
			query = url.Values{}
		}
		query.Set("agent_token", token)
	}
	target := c.commands
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, method, target, nil)
	if err != nil {
		return errtext.WithoutURL(err)
	}
	request.Header.Set("Content-Type", "application/json")
	if command != nil {
		request.Body = io.NopCloser(permitted{bytes.NewReader(command), ctx})
		request.ContentLength = int64(len(command))
	}
	answer, err := c.http.Do(request)
	if err != nil {
		return reason(ctx, err)
	}
	defer func() { _ = answer.Body.Close() }()
	return c.readAnswer(ctx, answer.Body, timer, func(body []byte) error { return decode(answer.StatusCode, body) })
}

// reason returns why a request has no answer.
func reason(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return errtext.WithoutURL(err) // which contains the token
}

// refusal returns the error of an answer with an HTTP status that is an error.
func (c *Client) refusal(method string, status int, body []byte) error {
	var answer struct{ Faultstring string }
	if err := json.Unmarshal(body, &answer); err != nil {
		return c.undecodable(status, err)
	}
	if status == http.StatusConflict || strings.Contains(strings.ToLower(answer.Faultstring), "agent is busy") {
		return c.failure(ErrBusy, status, nil, "Node %s command %q failed. Agent is presently executing a command. Error %s",
			c.config.Node, method, answer.Faultstring)
	}
	return c.failure(ErrRefused, status, nil, "Agent API for node %s returned HTTP status code %d with error: %s", c.config.Node,
		status, answer.Faultstring)
}

func (c *Client) undecodable(status int, err error) error {
	return c.failure(ErrAnswer, status, nil, "The answer of the agent on node %s, with HTTP status code %d, cannot be decoded as JSON: %v",
		c.config.Node, status, err)
}
