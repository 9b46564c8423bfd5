package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/gophercloud/gophercloud/v2/openstack/baremetal/v1/nodes"

	"github.com/ironstate/ironstate/machine/plan"
	"github.com/ironstate/ironstate/states"
)

// arguments holds the fields of the requests that require one.
type arguments struct {
	clean, service []nodes.CleanStep
	password       string
}

// neededFor returns the field that the request for a goal's own work requires, empty
// for none. On the route to other goals only a request out of "service failed" may
// require one, if the series has no other route; see [arguments.body].
func neededFor(goal plan.Goal) string {
	switch goal {
	case plan.After(states.EventClean):
		return states.EventClean.Requires()
	case plan.After(states.EventService):
		return states.EventService.Requires()
	case plan.In(states.Rescue):
		return states.EventRescue.Requires()
	default:
		return ""
	}
}

// readArguments reads the files that the flags name. It returns an error if an argument
// for the goal is missing, so that this is found before the first request.
func readArguments(f *flagValues, getenv func(string) string) (arguments, error) {
	var a arguments
	var errs [3]error
	a.clean, errs[0] = readSteps(f.clean)
	a.service, errs[1] = readSteps(f.service)
	a.password, errs[2] = readPassword(f.passwordFile, getenv)
	if err := cmp.Or(errs[:]...); err != nil {
		return a, err
	}
	if err := a.check(neededFor(f.options.goal)); err != nil {
		return a, fmt.Errorf("the goal %v needs %w", f.options.goal, err)
	}
	return a, nil
}

// check returns an error if the argument for a field of a request is missing. The error
// says how to provide it.
func (a arguments) check(field string) error {
	switch {
	case field == "clean_steps" && a.clean == nil:
		return errors.New("clean steps: name a file with -clean-steps FILE")
	case field == "service_steps" && a.service == nil:
		return errors.New("service steps: name a file with -service-steps FILE")
	case field == "rescue_password" && a.password == "":
		return errors.New("a rescue password: set RESCUE_PASSWORD or name a -rescue-password-file FILE")
	default:
		return nil
	}
}

func readSteps(file string) ([]nodes.CleanStep, error) {
	if file == "" {
		return nil, nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()

	var steps []nodes.CleanStep
	decoder := json.NewDecoder(f)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&steps); err != nil {
		return nil, fmt.Errorf("%s is not a JSON list of steps: %w", file, err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s has more in it than a JSON list of steps", file)
	}
	if len(steps) == 0 {
		return nil, fmt.Errorf("there is no step in %s", file)
	}
	for i, step := range steps {
		if step.Interface == "" || step.Step == "" {
			return nil, fmt.Errorf("step %d in %s lacks its interface or its step", i+1, file)
		}
	}
	return steps, nil
}

// readPassword reads the rescue password from a file or the environment, never from a
// flag, which every user of the machine could read.
func readPassword(file string, getenv func(string) string) (string, error) {
	password, where := getenv("RESCUE_PASSWORD"), "$RESCUE_PASSWORD"
	if file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		password, where = strings.TrimRight(string(text), "\r\n"), file
	}
	if strings.TrimSpace(password) == "" && (password != "" || file != "") {
		return "", fmt.Errorf("the password in %s is blank", where)
	}
	return password, nil
}

// body returns the request for a step of the plan, or an error if an argument is
// missing.
func (a arguments) body(step plan.Step) (nodes.ProvisionStateOpts, error) {
	if err := a.check(step.With); err != nil {
		return nodes.ProvisionStateOpts{}, fmt.Errorf("%v needs %w", step.Verb, err)
	}
	body := nodes.ProvisionStateOpts{Target: nodes.TargetProvisionState(step.Verb)}
	switch step.With {
	case "clean_steps":
		body.CleanSteps = a.clean
	case "service_steps":
		body.ServiceSteps = a.service
	case "rescue_password":
		body.RescuePassword = a.password
	}
	return body, nil
}
