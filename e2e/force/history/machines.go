// SPDX-License-Identifier: Apache-2.0

package history

import (
	"slices"

	"github.com/ironstate/ironstate/states"
)

// The steps that a machine's agent executes last in an automated cleaning, and after the image in a deployment. They
// change nothing, and record the content of the disk.
const (
	CleanedStep  = "look_after_cleaning"
	DeployedStep = "look_after_deployment"
)

// machines checks the nodes whose machines have agents: an automated cleaning that has succeeded has erased the disk, a
// deployment that has succeeded has written the image, the disk of an active node has that image in the end, and no
// work has begun a step twice. The machines without an agent have rules of their own.
func (c *checker) machines() {
	for id, m := range c.Machines {
		versions := c.Nodes[id]
		if m.Deserted {
			c.deserted(id, versions)
			continue
		}
		var image []string // that the last deployment may have written
		for i := 1; i < len(versions); i++ {
			before, now := versions[i-1], versions[i]
			if working(before.State) != working(now.State) {
				c.repeated(id, m.during(work(versions[:i]), now))
			}
			switch [2]states.State{before.State, now.State} {
			case cleaned:
				if !slices.ContainsFunc(m.during(work(versions[:i]), now), func(s Step) bool { return s.Name == CleanedStep && s.Disk == "" }) {
					c.find("machines", id, "it became available at revision %d, and no cleaning has erased the disk", now.Revision)
				}
			case deployed:
				deployment := work(versions[:i])
				image = images(deployment)
				written := func(s Step) bool { return s.Name == DeployedStep && slices.Contains(image, s.Disk) }
				if !slices.ContainsFunc(m.during(deployment, now), written) {
					c.find("machines", id, "it became active at revision %d, and the deployment of %q has not written the image", now.Revision, image)
				}
			}
		}
		if n := len(versions); n > 0 && versions[n-1].State == states.Active && !slices.Contains(image, m.Disk) {
			c.find("machines", id, "it is active, and its disk has the image %q instead of %q", m.Disk, image)
		}
	}
}

// Installations returns how many automated cleanings and deployments of machines have succeeded.
func (h *History) Installations() (cleanings, deployments int) {
	for id := range h.Machines {
		versions := h.Nodes[id]
		for i := 1; i < len(versions); i++ {
			switch [2]states.State{versions[i-1].State, versions[i].State} {
			case cleaned:
				cleanings++
			case deployed:
				deployments++
			}
		}
	}
	return cleanings, deployments
}

// The transitions at the end of an automated cleaning and of a deployment.
var (
	cleaned  = [2]states.State{states.Cleaning, states.Available}
	deployed = [2]states.State{states.Deploying, states.Active}
)

// repeated checks that no step was begun twice.
func (c *checker) repeated(id string, steps []Step) {
	begun := map[string]Step{}
	for _, s := range steps {
		if first, ok := begun[s.Name]; ok {
			c.find("machines", id, "the agent began %s at %s and at %s, in the same work",
				s.Name, first.At.Format(timeFormat), s.At.Format(timeFormat))
		}
		begun[s.Name] = s
	}
}

// work returns the last versions that belong to the same work: those in one working state, and in the states in which
// that work waits.
func work(versions []Version) []Version {
	last := working(versions[len(versions)-1].State)
	for i := len(versions) - 1; i >= 0; i-- {
		if working(versions[i].State) != last {
			return versions[i+1:]
		}
	}
	return versions
}

// working returns the state of the work that waits in a state, and any other state itself.
func working(state states.State) states.State {
	if w := state.Work(); w.InProgress().Has(state) {
		return w.Working()
	}
	return state
}

// during returns the steps that the agent began between the first version of a piece of work and its end. The end was
// read later than it was written, when the next work may have begun.
func (m Machine) during(work []Version, end Version) (steps []Step) {
	for _, s := range m.Steps {
		if s.At.After(work[0].Updated.Add(-clock)) && s.At.Before(end.Updated.Add(clock)) {
			steps = append(steps, s)
		}
	}
	return steps
}

// images returns the images that the versions name.
func images(versions []Version) (all []string) {
	for _, v := range versions {
		if !slices.Contains(all, v.Image) {
			all = append(all, v.Image)
		}
	}
	return all
}
