// SPDX-License-Identifier: Apache-2.0

package lockstep

import (
	"context"
	"fmt"
	"strings"
)

const refusalsName = "API: refusals that are not the state machine's, as listed"

// compareRefusals compares each refusal with Ironic's answer, and checks that the state
// machine accepts the request.
func compareRefusals(ctx context.Context, i *Ironic) (Comparison, error) {
	c := Comparison{Name: refusalsName}
	for _, r := range scenarios.Refusals {
		uuid, err := i.nodeIn(ctx, i.inState(r.State), r.Set)
		if err != nil {
			return c, err
		}
		answer, err := i.Client.Provision(ctx, i.newest(), uuid, r.Body)
		if err != nil {
			return c, err
		}
		got := fmt.Sprint(answer.Status)
		if !strings.Contains(answer.Fault, r.Text) {
			got += " " + answer.Fault
		}
		c.compare(got, fmt.Sprint(r.Status), "%s", r.Reason)
		_, err = i.table().Request(r.State, r.Body["target"].(string), i.newest())
		c.compare(err, nil, "%s, and the state machine", r.Reason)
	}
	return c, nil
}
