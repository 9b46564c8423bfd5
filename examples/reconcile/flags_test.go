package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/program"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/machine/plan"
	"github.com/ironstate/ironstate/states"
)

func TestWrongUsageIsReportedInOneLine(t *testing.T) {
	good := []string{"-endpoint", "http://ironic.example:6385", "-node", "node-1"}
	with := func(args ...string) []string { return append(good[:len(good):len(good)], args...) }
	cleaned := func(text string) []string { return with("-goal", "cleaned", "-clean-steps", file(t, text)) }
	at := func(endpoint string) []string { return []string{"-node", "node-1", "-endpoint", endpoint} }
	named := func(node string) []string { return append(good[:2:2], "-node", node) }
	tests := map[string]struct {
		args []string
		want string
	}{
		"an unknown flag":        {with("-password", "x"), "flag provided but not defined: -password"},
		"an argument":            {with("node-2"), `unexpected argument "node-2": want flags alone, see -h`},
		"no endpoint":            {[]string{"-node", "node-1"}, "the flags are for a real Ironic: name it with -endpoint URL"},
		"an endpoint without //": {at("ironic:6385"), "is not a URL such as http://127.0.0.1:6385"},
		"an unknown scheme":      {at("ftp://ironic"), "is not a URL such as"},
		"an endpoint's query":    {at("http://ironic/?a=b"), "is not a URL such as"},
		"a broken endpoint":      {at("http://[::1"), "the endpoint is not a URL"},
		"an endpoint with user":  {at("http://a:hunter2@ironic"), "the endpoint names a user"},
		"no node":                {good[:2], "there is no node: name it with -node NAME"},
		"a path":                 {named("../ports"), `"../ports" is not the name or the UUID of a node`},
		"dots":                   {named(".."), `".." is not the name or the UUID of a node`},
		"a query":                {named("node?fields=uuid"), "is not the name or the UUID of a node"},
		"an unknown goal":        {with("-goal", "happy"), `"happy"`},
		"a goal on the way":      {with("-goal", "deploying"), `"deploying"`},
		"an unknown version":     {with("-api", "latest"), `-api "latest" is neither "negotiated" nor from 1.1 to 1.113`},
		"no version":             {with("-api", "none"), `-api "none" is neither`},
		"a version to come":      {with("-api", "1.114"), `-api "1.114" is neither`},
		"no poll":                {with("-poll", "0s"), "-poll 0s is not positive"},
		"no timeout":             {with("-timeout", "-1s"), "-timeout -1s is not positive"},
		"retries below 0":        {with("-retries", "-1"), `invalid value "-1" for flag -retries`},
		"too many retries":       {with("-retries", "256"), "256 retries are more than 255"},
		"no clean steps":         {with("-goal", "cleaned"), "the goal cleaned needs clean steps: name a file with -clean-steps FILE"},
		"no service steps":       {with("-goal", "serviced"), "the goal serviced needs service steps: name a file with -service-steps FILE"},
		"no password":            {with("-goal", "rescued"), "the goal rescued needs a rescue password: set RESCUE_PASSWORD or name"},
		"an empty password file": {with("-rescue-password-file", file(t, "\n")), "is blank"},
		"a blank password":       {with("-goal", "rescue", "-rescue-password-file", file(t, " \n")), "is blank"},
		"no password file":       {with("-goal", "rescued", "-rescue-password-file", "/nonexistent"), "open /nonexistent: no such file"},
		"no file of steps":       {with("-goal", "cleaned", "-clean-steps", "/nonexistent"), "open /nonexistent: no such file"},
		"steps that are none":    {cleaned("erase"), "is not a JSON list of steps"},
		"steps with more":        {cleaned(`[{"interface": "deploy", "step": "a", "order": 1}]`), `unknown field "order"`},
		"two lists of steps":     {cleaned(`[{"interface": "deploy", "step": "a"}] []`), "has more in it than"},
		"an empty list of steps": {cleaned(`[]`), "there is no step in"},
		"half a step":            {cleaned(`[{"interface": "deploy"}]`), "step 1 in"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			code, out, errOut := command(t, "", test.args...)
			require.Equal(t, program.Usage, code)
			require.Empty(t, out)
			require.Contains(t, errOut, test.want)
			require.Equal(t, 1, strings.Count(errOut, "\n"))
			require.NotContains(t, errOut, "hunter2")
		})
	}
}

func TestTheArgumentsOfAVerbAreSent(t *testing.T) {
	const steps = `[{"interface": "bios", "step": "apply_configuration", "args": {"settings": [{"name": "speed", "value": "full"}]}}]`
	tests := map[string]struct {
		goal, flag, text string
		from             states.State
		want             string
	}{
		"clean steps":   {"cleaned", "-clean-steps", steps, states.Manageable, `{"target": "clean", "clean_steps": ` + steps + `}`},
		"service steps": {"serviced", "-service-steps", steps, states.Active, `{"target": "service", "service_steps": ` + steps + `}`},
		"a rescue password": {"rescued", "-rescue-password-file", "correct horse\n", states.Active,
			`{"target": "rescue", "rescue_password": "correct horse"}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := start(t, conductor.Node{ProvisionState: test.from})
			code, out, errOut := command(t, "", "-endpoint", f.URL, "-node", "node-1", "-poll", "1ms",
				"-goal", test.goal, test.flag, file(t, test.text))
			require.Empty(t, errOut)
			require.Equal(t, program.Good, code, out)
			require.Len(t, f.accepted, 1)
			require.JSONEq(t, test.want, f.accepted[0])
		})
	}
}

// In 2023.2 only service and rescue lead out of a failed service.
func TestARequestWithoutItsArgumentsIsNotSent(t *testing.T) {
	f := startSeries(t, states.Bobcat, conductor.Node{ProvisionState: states.ServiceFail})
	args := []string{"-endpoint", f.URL, "-node", "node-1", "-poll", "1ms", "-retries", "1"}
	code, _, errOut := command(t, "", args...)
	require.Equal(t, program.Failed, code)
	require.Equal(t, "reconcile: node-1 has not come to active (last seen in service failed): "+
		"service needs service steps: name a file with -service-steps FILE\n", errOut)
	require.Empty(t, f.verbs())

	args = append(args, "-service-steps", file(t, `[{"interface": "bios", "step": "factory_reset"}]`))
	code, _, errOut = command(t, "", args...)
	require.Equal(t, program.Good, code, errOut)
	require.Equal(t, []string{"service"}, f.verbs())
}

func TestThePasswordIsNotPrinted(t *testing.T) {
	const password = "correct horse"
	tests := map[string]struct {
		node    conductor.Node
		refusal answer
		code    int
	}{
		"when all goes well":      {code: program.Good},
		"when Ironic repeats it":  {refusal: answer{status: 400, fault: "not so: " + password}, code: program.Failed},
		"in a last error":         {node: conductor.Node{LastError: "no user " + password}, code: program.Good},
		"in maintenance's reason": {node: conductor.Node{Maintenance: true, MaintenanceReason: "password " + password}, code: program.Failed},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.node.ProvisionState = states.Active
			f := start(t, test.node)
			if test.refusal.status != 0 {
				f.refuse("rescue", test.refusal)
			}
			code, out, errOut := command(t, password, "-endpoint", f.URL, "-node", "node-1", "-poll", "1ms", "-goal", "rescued")
			require.Equal(t, test.code, code, errOut)
			require.NotContains(t, out+errOut, "horse")
		})
	}
}

func TestAFaultOfIronicIsOneLine(t *testing.T) {
	r := &report{secret: "s3cret"}
	require.Equal(t, "a b [31mred *** end", r.clean("a\r\n b\x1b[31mred s3cret\tend "))
}

// The arguments of a goal are checked before the first request. No other goal needs an
// argument, except on the route out of a failed service.
func TestPlansNeedOnlyTheArgumentsOfTheirGoal(t *testing.T) {
	policies := []plan.Policy{{}, {MayDestroy: true}, {MayAbort: true}, {MayAbort: true, MayDestroy: true}}
	for series := range states.AllSeries() {
		for goal := range plan.AllGoals() {
			for state := range series.Table().States().All() {
				for _, policy := range policies {
					policy.Retries = 3
					step, err := plan.Next(series.Table(), machine.Node{State: state}, plan.Wish{
						Goal: goal, Version: series.MaxAPIVersion(), Policy: policy,
					})
					require.NoError(t, err)
					if step.Action == plan.Send && step.With != "" && state != states.ServiceFail {
						require.Equal(t, neededFor(goal), step.With, "%v: %v for %v", series, state, goal)
					}
				}
			}
		}
	}
}
