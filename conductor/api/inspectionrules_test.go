// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor/api"
	"github.com/ironstate/ironstate/states"
)

const rulesPath = "/v1/inspection_rules"

func TestAnInspectionRuleIsCreatedChangedAndDeleted(t *testing.T) {
	t.Parallel()
	for _, series := range []states.Series{states.Epoxy, states.Flamingo, states.Latest()} {
		s := start(t, series, api.Config{})
		require.Equal(t, map[string]any{"inspection_rules": []any{}}, s.do("GET", rulesPath, "1.96", "").must(http.StatusOK))
		require.Contains(t, s.do("GET", "/v1", "1.96", "").must(http.StatusOK), "inspection_rules")
		require.NotContains(t, s.do("GET", "/v1", "1.95", "").must(http.StatusOK), "inspection_rules")
		refused := s.do("GET", rulesPath, "1.95", "")
		require.Equal(t, "The API version does not allow inspection rules", refused.fault())
		require.Equal(t, series >= states.Flamingo, strings.Contains(refused.body, "faultstring"), series)
		require.Equal(t, http.StatusMethodNotAllowed, s.do("POST", rulesPath, "1.95", "{}").status)
		refused = s.do("PUT", rulesPath, "1.95", "")
		require.Equal(t, http.StatusMethodNotAllowed, refused.status)
		require.Equal(t, series >= states.Flamingo, refused.header.Get("Allow") == "DELETE, GET, PATCH, POST", series)

		made := s.do("POST", rulesPath, "1.96", `{"actions": [{"op": "set-plugin-data", "args": ["a", 1], "x": 5, "loop": []},
			{"op": "fail", "args": ["a"], "loop": [1], "multiple": "all"}],
			"conditions": [{"op": "!eq", "args": {"values": [1, 2]}, "loop": [1], "multiple": "all"},
				{"op": "is-none", "args": [1], "multiple": "any"}, {"op": "is-none", "args": [1], "loop": {"a": 1}}],
			"priority": 7, "description": "d"}`)
		rule := made.must(http.StatusCreated)
		uuid := rule["uuid"].(string)
		require.True(t, strings.HasSuffix(made.header.Get("Location"), rulesPath+"/"+uuid))
		require.Contains(t, rule["links"].([]any)[0].(map[string]any)["href"], "/v1/inspection/"+uuid)
		for _, key := range []string{"links", "uuid", "created_at", "updated_at"} {
			delete(rule, key)
		}
		require.Equal(t, map[string]any{
			"actions": []any{
				map[string]any{"op": "set-plugin-data", "args": []any{"a", 1.0, map[string]any{}}},
				map[string]any{"op": "fail", "args": []any{"a"}, "loop": []any{1.0}},
			},
			"conditions": []any{
				map[string]any{"op": "!eq", "args": map[string]any{"values": []any{1.0, 2.0}}, "loop": []any{1.0}, "multiple": "all"},
				map[string]any{"op": "is-none", "args": []any{1.0}},
				map[string]any{"op": "is-none", "args": []any{1.0}, "loop": map[string]any{"a": 1.0}, "multiple": "any"},
			},
			"priority": 7.0, "description": "d", "phase": "main", "sensitive": false,
		}, rule)

		at := rulesPath + "/" + uuid
		patch := func(text string) reply { return s.do("PATCH", at, "1.96", "["+text+"]") }
		require.Equal(t, 8.0, patch(`{"op": "replace", "path": "/priority", "value": 8}`).must(http.StatusOK)["priority"])
		changed := patch(`{"op": "replace", "path": "/actions/0/args/0", "value": "x"}`).must(http.StatusOK)
		require.Equal(t, "x", changed["actions"].([]any)[0].(map[string]any)["args"].([]any)[0])
		patch(`{"op": "replace", "path": "/scope", "value": "x"}`).must(http.StatusOK)
		require.Equal(t, "Adding a new attribute (/foo) to the root of the resource is not allowed",
			patch(`{"op": "add", "path": "/foo", "value": 1}`).fault())
		require.Equal(t, http.StatusNotFound, patch(`{"op": "replace", "path": "/uuid", "value": "`+absentUUID+`"}`).status)
		require.Equal(t, http.StatusBadRequest, patch(`{"op": "remove", "path": "/actions"}`).status)

		list := s.do("GET", rulesPath, "1.96", "").must(http.StatusOK)["inspection_rules"].([]any)[0].(map[string]any)
		delete(list, "links")
		require.Equal(t, map[string]any{"uuid": uuid, "priority": 8.0, "phase": "main", "description": "d"}, list)
		require.Equal(t, []any{false}, s.do("GET", rulesPath+"?detail=true&phase=other", "1.96", "").values("inspection_rules", "sensitive"))
		require.Equal(t, []any{8.0}, s.do("GET", rulesPath+"?fields=priority", "1.96", "").values("inspection_rules", "priority"))
		require.Equal(t, http.StatusBadRequest, s.do("GET", rulesPath+"?sort_key=actions", "1.96", "").status)
		require.Equal(t, http.StatusOK, s.do("GET", rulesPath+"?sort_key=scope", "1.96", "").status)
		require.Equal(t, http.StatusBadRequest, s.do("GET", rulesPath+"?fields=scope", "1.96", "").status)
		for _, path := range []string{rulesPath, at} {
			require.Equal(t, `Field(s) "nonsense" are not valid`, s.do("GET", path+"?fields=nonsense", "1.96", "").fault(), series)
		}
		require.Equal(t, "A rule with UUID "+uuid+" already exists.",
			s.do("POST", rulesPath, "1.96", `{"uuid": "`+uuid+`", "actions": [{"op": "fail", "args": {"msg": "m"}}]}`).fault())

		hidden := patch(`{"op": "replace", "path": "/sensitive", "value": true}`).must(http.StatusOK)
		require.Equal(t, []any{nil, nil}, []any{hidden["actions"], hidden["conditions"]})
		require.Nil(t, s.do("GET", at, "1.96", "").must(http.StatusOK)["actions"])
		require.Contains(t, patch(`{"op": "replace", "path": "/sensitive", "value": false}`).fault(),
			"Inspection rules cannot have the sensitive flag unset.")

		require.Nil(t, patch(`{"op": "remove", "path": "/phase"}`).must(http.StatusOK)["phase"])
		require.Nil(t, s.do("GET", at, "1.96", "").json()["phase"])
		require.Equal(t, "Invalid phase: None. Valid phases are: main", patch(`{"op": "add", "path": "/priority", "value": 1}`).fault())
		require.Equal(t, "main", patch(`{"op": "add", "path": "/phase", "value": "main"}`).must(http.StatusOK)["phase"])

		require.Equal(t, http.StatusNoContent, s.do("DELETE", at, "1.96", "").status)
		for _, method := range []string{"GET", "DELETE"} {
			require.Equal(t, "Rule "+uuid+" could not be found.", s.do(method, at, "1.96", "").fault())
		}
	}
}

func TestAnInvalidInspectionRuleIsRefused(t *testing.T) {
	t.Parallel()
	s := start(t, states.Latest(), api.Config{})
	const actions = `"actions": [{"op": "fail", "args": {"msg": "m"}}]`
	for body, want := range map[string]string{
		`{}`:                                   "'actions' is a required property",
		`{"actions": []}`:                      "[] ",
		`{"scope": "x", ` + actions + `}`:      "Additional properties are not allowed ('scope' was unexpected)",
		`{"phase": "early", ` + actions + `}`:  "Invalid phase: early. Valid phases are: main",
		`{"phase": null, ` + actions + `}`:     "Invalid phase: None. Valid phases are: main",
		`{"priority": 10000, ` + actions + `}`: "Priority must be between 0 and 9999 for user-defined rules.",
		`{"priority": 1e300, ` + actions + `}`: "Priority must be between 0 and 9999 for user-defined rules.",
		`{"phase": "x", "priority": 10000, ` + actions + `}`: "Multiple validation errors occurred: " +
			"Invalid phase: x. Valid phases are: main; Priority must be between 0 and 9999 for user-defined rules.",
		`{"priority": -1, ` + actions + `}`:                           "-1 is less than the minimum of 0",
		`{"uuid": "x", ` + actions + `}`:                              "Expected UUID for uuid: x",
		`{"actions": [{"op": "explode", "args": {}}]}`:                "'explode' is not one of ['fail', 'log', ",
		`{"actions": [{"op": "fail", "args": "m"}]}`:                  "'m' is not of type 'array', 'object'",
		`{"actions": [{"op": "api-call", "args": {"url": "u"}}]}`:     "Invalid rule: the action api-call is not supported",
		`{"conditions": [{"op": "ne", "args": {}}], ` + actions + `}`: "'ne' is not one of ['eq', 'lt', 'gt', ",
		`{"conditions": [{"op": "matches", "args": ["a", "(?=b)"]}], ` + actions + `}`: "Invalid rule: the regular expression " +
			"'(?=b)' is not supported",
		`{"conditions": [{"op": "eq", "args": [[]], "multiple": "x"}], ` + actions + `}`: "'x' is not one of ['any', 'all', 'first', 'last']",
	} {
		answer := s.do("POST", rulesPath, "latest", body)
		require.Equal(t, http.StatusBadRequest, answer.status, body)
		require.Contains(t, answer.fault(), want, body)
	}
	for body, want := range map[string]string{ // Ironic has no status for them
		`{"actions": [{"op": "fail", "args": {}}]}`:                         "missing required argument(s): msg",
		`{"actions": [{"op": "fail", "args": {"msg": 1, "b": 1, "a": 1}}]}`: "unexpected argument(s): a, b",
		`{"actions": [{"op": "set-attribute", "args": ["x"]}]}`:             "Not enough arguments provided. Missing: value",
		`{"conditions": [{"op": "eq", "args": {"a": 1}}], ` + actions + `}`: "missing required argument(s): values; unexpected argument(s): a",
	} {
		answer := s.do("POST", rulesPath, "latest", body)
		require.Equal(t, http.StatusInternalServerError, answer.status, body)
		require.Equal(t, want, answer.fault(), body)
	}
	epoxy := start(t, states.Epoxy, api.Config{})
	require.Contains(t, epoxy.do("POST", rulesPath, "latest", `{"actions": [{"op": "api-call", "args": {"url": "u"}}]}`).fault(),
		"'api-call' is not one of")
	require.Equal(t, http.StatusBadRequest, s.do("PATCH", rulesPath+"/"+absentUUID, "latest", "null").status)
}

func TestASensitiveInspectionRuleStaysSo(t *testing.T) {
	t.Parallel()
	s := start(t, states.Latest(), api.Config{})
	const actions = `"actions": [{"op": "fail", "args": {"msg": "m"}}]`
	open := s.post(rulesPath, `{"priority": 9999, `+actions+`}`)
	secret := s.post(rulesPath, `{"sensitive": true, `+actions+`}`)
	for _, c := range []struct {
		rule, patch string
		status      int
	}{
		{open, `{"op": "replace", "path": "/sensitive", "value": false}`, http.StatusOK},
		{secret, `{"op": "replace", "path": "/description", "value": "d"}`, http.StatusOK},
		{secret, `{"op": "replace", "path": "/sensitive", "value": true}`, http.StatusOK},
		{secret, `{"op": "replace", "path": "/sensitive", "value": false}`, http.StatusBadRequest},
		{secret, `{"op": "replace", "path": "/sensitive", "value": null}`, http.StatusBadRequest},
		{secret, `{"op": "remove", "path": "/sensitive"}`, http.StatusBadRequest},
		{secret, `{"op": "replace", "path": "/sensitive", "value": true}, {"op": "replace", "path": "/sensitive", "value": false}`,
			http.StatusBadRequest},
		{secret, `{"op": "remove", "path": "/sensitive"}, {"op": "add", "path": "/sensitive", "value": true}`, http.StatusOK},
	} {
		answer := s.do("PATCH", c.rule, "latest", "["+c.patch+"]")
		require.Equal(t, c.status, answer.status, c.patch)
		if c.status == http.StatusBadRequest {
			require.Equal(t, "Couldn't apply patch. Reason: Inspection rules cannot have the sensitive flag unset.", answer.fault(), c.patch)
		}
		if c.rule == secret {
			shown := s.do("GET", secret, "latest", "").must(http.StatusOK)
			require.Equal(t, true, shown["sensitive"], c.patch)
			require.Nil(t, shown["actions"], c.patch)
		}
	}
}

func TestTheSchemaOfARuleIsNamedBefore2026_1(t *testing.T) {
	t.Parallel()
	for series, want := range map[states.Series]string{
		states.Flamingo: "Schema error for inspection_rule: 'nonsense' is not one of", states.Gazpacho: "Schema error: 'nonsense' is not one of",
	} {
		a := start(t, series, api.Config{}).do("POST", rulesPath, "1.96", `{"actions": [{"op": "nonsense", "args": {}}]}`)
		require.Equal(t, http.StatusBadRequest, a.status)
		require.True(t, strings.HasPrefix(a.fault(), want), "%v: %s", series, a.fault())
	}
}
