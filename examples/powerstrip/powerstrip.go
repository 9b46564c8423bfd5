// SPDX-License-Identifier: Apache-2.0

// Package powerstrip is a hardware type of one's own: machines without a BMC on the outlets of a power strip that
// speaks HTTP. The strip switches them; all else, such as the deployment by Ironic's agent, is of package hardware.
//
// The strip answers GET /outlets/N with {"on": true} or {"on": false}, and takes the same by PUT.
package powerstrip

import (
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

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/hardware"
	"github.com/ironstate/ironstate/states"
)

// New returns the hardware type. Close it.
func New(c hardware.Config) (*hardware.Type, error) {
	return hardware.New(c, hardware.Interfaces{
		Power: []hardware.Power{power{&http.Client{
			Timeout:       10 * time.Second,
			CheckRedirect: func(*http.Request, []*http.Request) error { return errors.New("a power strip redirects nobody") },
		}}},
		Management: []hardware.Management{hardware.NoManagement()}, // a strip knows no boot device
	})
}

// power is the power interface "powerstrip".
type power struct{ client *http.Client }

func (power) Name() string { return "powerstrip" }

func (power) Properties() map[string]string {
	return map[string]string{
		"powerstrip_url":      "URL of the power strip, such as https://10.1.2.9. Required.",
		"powerstrip_outlet":   "Number of the machine's outlet, from 1. Required.",
		"powerstrip_password": "Password of the user admin. Required.",
	}
}

// Validate reads the record alone: it sends nothing.
func (power) Validate(n hardware.Node) error {
	_, _, err := outlet(n.Node)
	return err
}

// outlet returns the URL of the node's outlet and the password. Its errors do not quote values.
func outlet(n *conductor.Node) (at, password string, err error) {
	text := func(key string) string { text, _ := n.DriverInfo[key].(string); return text }
	number, wrong := strconv.Atoi(fmt.Sprint(n.DriverInfo["powerstrip_outlet"])) // JSON's number, or a text
	strip, unreadable := url.Parse(text("powerstrip_url"))
	password = text("powerstrip_password")
	key := ""
	switch {
	case unreadable != nil, strip.Scheme != "http" && strip.Scheme != "https", strip.Host == "", strip.User != nil:
		key = "powerstrip_url"
	case wrong != nil, number < 1:
		key = "powerstrip_outlet"
	case password == "":
		key = "powerstrip_password"
	default:
		return strip.JoinPath("outlets", strconv.Itoa(number)).String(), password, nil
	}
	return "", "", &conductor.Error{Reason: conductor.Invalid, Text: fmt.Sprintf("Missing or invalid %s in node %s driver_info", key, n.UUID)}
}

// PowerState reads the outlet.
func (p power) PowerState(ctx context.Context, n *conductor.Node) (states.Power, error) {
	var is state
	if err := p.send(ctx, n, http.MethodGet, "", &is); err != nil {
		return states.NoPower, err
	}
	switch {
	case is.On == nil:
		return states.PowerError, nil
	case *is.On:
		return states.PowerOn, nil
	default:
		return states.PowerOff, nil
	}
}

// state is the state of an outlet in the answers of the strip.
type state struct {
	On *bool `json:"on"`
}

// SupportsPower refuses the soft requests: no operating system hears a power strip.
func (power) SupportsPower(_ *conductor.Node, power states.Power) bool {
	return power == states.PowerOn || power == states.PowerOff || power == states.PowerRebooting
}

// SetPower switches the outlet. A reboot is off and on: two requests, of which each asks for its permission.
func (p power) SetPower(ctx context.Context, n *conductor.Node, power states.Power) error {
	switch power {
	case states.PowerOn, states.PowerOff:
		return p.send(ctx, n, http.MethodPut, fmt.Sprintf(`{"on": %t}`, power == states.PowerOn), nil)
	case states.PowerRebooting:
		if err := p.SetPower(ctx, n, states.PowerOff); err != nil {
			return err
		}
		return p.SetPower(ctx, n, states.PowerOn)
	default:
		return fmt.Errorf("a power strip has no %s: %w", power, errors.ErrUnsupported)
	}
}

// send sends a request and decodes the answer, unless into is nil.
func (p power) send(ctx context.Context, n *conductor.Node, method, body string, into *state) error {
	at, password, err := outlet(n)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, method, at, strings.NewReader(body))
	if err != nil {
		return errors.New("the power strip's URL cannot be used")
	}
	r.SetBasicAuth("admin", password)
	if method != http.MethodGet {
		r.Header.Set("Content-Type", "application/json")
		if err := conductor.Permit(ctx); err != nil { // this process may have lost the node
			return err
		}
	}
	answer, err := p.client.Do(r)
	if err != nil {
		return fmt.Errorf("ask the power strip: %w", err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("the power strip answers with status %d", answer.StatusCode)
	}
	if into == nil {
		return nil
	}
	if err := json.NewDecoder(io.LimitReader(answer.Body, 1<<10)).Decode(into); err != nil {
		return fmt.Errorf("the power strip's answer: %w", err)
	}
	return nil
}
