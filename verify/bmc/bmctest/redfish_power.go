// SPDX-License-Identifier: Apache-2.0

package bmctest

import (
	"fmt"
	"net/http"
	"slices"
	"time"
)

func (s *system) setPower(power string) { s.power, s.next = power, "" }

func (s *system) powerAt(now time.Time) string {
	if s.next != "" && !now.Before(s.settled) {
		s.setPower(s.next)
	}
	return s.power
}

// change begins a transition that takes delay.
func (s *system) change(transition, target string, delay time.Duration) {
	if delay == 0 {
		s.setPower(target)
		return
	}
	s.power, s.next, s.settled = transition, target, time.Now().Add(delay)
}

// turnOn powers the system on or resets it.
func (s *system) turnOn(delay time.Duration) {
	s.change(poweringOn, powerOn, delay)
	s.boots()
}

func (s *system) turnOff(delay time.Duration) {
	s.change(poweringOff, powerOff, delay)
	s.onPower(false, "", "")
}

// resets has the values of ResetType. Each function reports whether the power state allows the reset.
var resets = []struct {
	name string
	do   func(s *system, now string, delay time.Duration) bool
}{
	{"On", func(s *system, now string, delay time.Duration) bool {
		if now != powerOn && now != poweringOn {
			s.turnOn(delay)
		}
		return true
	}},
	{"ForceOff", switchOff},
	{"GracefulShutdown", switchOff},
	{"GracefulRestart", restart},
	{"ForceRestart", restart},
	{"PowerCycle", restart},
	{"PushPowerButton", func(s *system, now string, delay time.Duration) bool {
		if isOff(now) {
			s.turnOn(delay)
		} else {
			s.turnOff(delay)
		}
		return true
	}},
	{"Nmi", func(s *system, now string, _ time.Duration) bool {
		if isOff(now) {
			return false
		}
		s.nmis++
		return true
	}},
}

func isOff(power string) bool { return power == powerOff || power == poweringOff }

func switchOff(s *system, now string, delay time.Duration) bool {
	if !isOff(now) {
		s.turnOff(delay)
	}
	return true
}

func restart(s *system, now string, delay time.Duration) bool {
	if isOff(now) {
		return false
	}
	s.turnOn(delay)
	return true
}

func resetTypes() []string {
	var names []string
	for _, r := range resets {
		names = append(names, r.name)
	}
	return names
}

// reset carries out the action ComputerSystem.Reset.
func (b *Redfish) reset(s *system, c *call) *reply {
	resetType := member{name: "ResetType", action: "ComputerSystem.Reset"}
	body, ok := members(c.body)
	if !ok {
		return badJSON()
	}
	if _, ok := body[resetType.name]; !ok {
		return resetType.missing()
	}
	name, _ := textOf(body[resetType.name])
	for _, r := range resets {
		if r.name != name || !slices.Contains(s.profile.ResetTypes, name) {
			continue
		}
		if !r.do(s, s.powerAt(time.Now()), b.config.PowerDelay) {
			return problem(http.StatusConflict, "BMCTest.1.0.SystemPoweredOff",
				fmt.Sprintf("%s is impossible while the system is off.", name), name)
		}
		return noContent()
	}
	return resetType.notInList(name)
}

// actionInfo returns the description of the system's reset.
func (s *system) actionInfo() object {
	return newResource(s.path()+"/"+infoPath, "ActionInfo.v1_4_2", "Reset Action Info", object{
		"Parameters": []object{{
			"Name": "ResetType", "Required": true, "DataType": "String", "AllowableValues": s.profile.ResetTypes,
		}},
	})
}
