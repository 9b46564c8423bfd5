// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api"
	"github.com/ironstate/ironstate/states"
)

func TestTheOwnerOfANodeStaysWhileAnOwnersAllocationHasIt(t *testing.T) {
	t.Parallel()
	const (
		add    = `{"op": "add", "path": "/owner", "value": "you"}`
		null   = `{"op": "replace", "path": "/owner", "value": null}`
		remove = `{"op": "remove", "path": "/owner"}`
		other  = `{"op": "add", "path": "/extra/a", "value": 1}`
	)
	for _, series := range []states.Series{states.Antelope, states.Latest()} {
		s := start(t, series, api.Config{})
		for _, c := range []struct {
			owner, patch string
			status       int
		}{
			{`, "owner": "me"`, add, 409}, {`, "owner": "me"`, null, 409}, {`, "owner": "me"`, other + "," + add, 409},
			{`, "owner": "me"`, remove, 200}, {`, "owner": "me"`, other, 200}, {"", add, 200}, {"", null, 200},
		} {
			uuid := s.have(&conductor.Node{ProvisionState: states.Active, Owner: "me"})
			s.post("/v1/allocations", `{"resource_class": null, "node": "`+uuid+`"`+c.owner+`}`)
			answer := s.do("PATCH", "/v1/nodes/"+uuid, "latest", "["+c.patch+"]")
			require.Equal(t, c.status, answer.status, "%v %s %s %s", series, c.owner, c.patch, answer.body)
			if c.status == http.StatusConflict {
				require.Equal(t, `Cannot update owner of node "`+uuid+`" while it is allocated to an allocation with an  owner.`, answer.fault())
			}
		}
		uuid := s.have(&conductor.Node{ProvisionState: states.Active})
		require.Equal(t, http.StatusOK, s.do("PATCH", "/v1/nodes/"+uuid, "latest", "["+add+"]").status, "without an allocation")
	}
}

func TestTheParentOfANodeHasTheSameOwner(t *testing.T) {
	t.Parallel()
	s, old := start(t, states.Epoxy, api.Config{}), start(t, states.Dalmatian, api.Config{})
	const none, empty, me = "none", "empty", "me"
	for _, s := range []*server{s, old} {
		for name, owner := range map[string]string{none: `null`, empty: `""`, me: `"me"`} {
			s.create(`{"driver": "fake-hardware", "name": "` + name + `", "owner": ` + owner + `}`)
		}
	}
	patch := func(parents ...string) (body string) {
		for _, parent := range parents {
			body += `, {"op": "add", "path": "/parent_node", "value": "` + parent + `"}`
		}
		return body[2:]
	}
	for _, c := range []struct {
		owner, patch, parent string // "" for a refusal
	}{
		{`null`, patch(none), none}, {`""`, patch(empty), empty}, {`"me"`, patch(me), me},
		{`null`, patch(empty), ""}, {`""`, patch(none), ""}, {`null`, patch(me), ""}, {`"me"`, patch(none), ""},
		{`"me"`, patch(me, none), me}, {`"me"`, patch(me, "absent"), me}, {`"me"`, patch(none, me), ""},
		{`"me"`, patch(me) + `, {"op": "remove", "path": "/parent_node"}`, me},
		{`"me"`, `{"op": "replace", "path": "/owner", "value": "you"}, ` + patch(me), me},
	} {
		child := s.create(`{"driver": "fake-hardware", "owner": ` + c.owner + `}`)
		answer := s.do("PATCH", "/v1/nodes/"+child, "latest", "["+c.patch+"]")
		if c.parent == "" {
			require.Contains(t, answer.fault(), "Unable to apply the requested parent_node", c.patch)
			continue
		}
		parent := s.do("GET", "/v1/nodes/"+c.parent, "latest", "").must(http.StatusOK)["uuid"]
		require.Equal(t, parent, answer.must(http.StatusOK)["parent_node"], c.patch)
	}
	born := `{"driver": "fake-hardware", "parent_node": "` + me + `"}`
	require.Equal(t, "Unable to apply the requested parent_node 'me'. Requested value was invalid.",
		s.do("POST", "/v1/nodes", "latest", born).fault())
	old.create(born)
}
