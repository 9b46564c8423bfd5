// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/e2e/force/history"
	"github.com/ironstate/ironstate/states"
)

// refuse records an answer that refuses an attack for its reason.
func refuse(l *attackLog, a attack) {
	l.add(a, cmp.Or(a.want, http.StatusUnauthorized), "because "+a.reason)
}

// However short the time, the faults do not end before each attack was made.
func TestTheAttacksAreCompleteOnceEachWasRefusedOrMadeOften(t *testing.T) {
	log := newAttackLog()
	for _, a := range allAttacks() {
		require.False(t, log.complete(), "%v", log)
		refuse(log, a)
	}
	require.False(t, log.complete(), "no idle connection was opened")
	log.idle++
	require.True(t, log.complete())
	require.True(t, log.ended(allAttacks()))
	log.requireRefused()
	require.Empty(t, log.findings())

	log = newAttackLog()
	require.False(t, log.ended(allAttacks()))
	log.add(attacks("")[0], http.StatusOK, "")
	require.True(t, log.complete(), "an attack that was accepted is not waited for")
	require.True(t, log.ended(allAttacks()))
	log.requireRefused()
	require.Len(t, log.findings(), 1)

	log = newAttackLog()
	log.idle++
	for _, a := range allAttacks() {
		for range enough {
			require.False(t, log.complete(), "%v", log)
			log.add(a, http.StatusInternalServerError, "")
		}
	}
	require.True(t, log.complete(), "an attack that is not answered is made again after the faults")
	require.Empty(t, log.findings(), "faults cause it")
	first := attacks("")[0]
	require.False(t, log.wasRefused(first))
	log.require(first, http.StatusUnauthorized)
	require.Empty(t, log.findings())
	log.require(first, 0)
	require.Len(t, log.findings(), 1)
}

func TestAnAttackOfAnInsiderThatIsNotRefusedForItsReasonIsAFinding(t *testing.T) {
	require.Len(t, insideAttacks(), 11)
	names := map[string]bool{}
	for _, a := range allAttacks() {
		require.False(t, names[a.name], a.name)
		names[a.name] = true
	}
	for _, a := range insideAttacks() {
		require.NotEmpty(t, a.reason, a.name)
		right := cmp.Or(a.want, http.StatusBadRequest)
		for name, answer := range map[string]struct {
			status int
			text   string
			want   verdict
		}{
			"no answer":               {0, "", undecided},
			"no leader":               {http.StatusInternalServerError, a.reason, undecided},
			"no answer in time":       {http.StatusGatewayTimeout, a.reason, undecided},
			"no majority":             {http.StatusServiceUnavailable, "no majority", undecided},
			"refused for its reason":  {right, a.reason, defended},
			"refused without it":      {right, "", undecided},
			"refused for another one": {http.StatusNotFound, "the node has moved on", undecided},
			"accepted":                {http.StatusNoContent, a.reason, accepted},
			"redirected":              {http.StatusFound, a.reason, accepted},
			"the process has failed":  {http.StatusBadGateway, a.reason, accepted},
		} {
			require.Equal(t, answer.want, a.judge(answer.status, answer.text), "%s: %s", a.name, name)
		}
		if a.want == 0 {
			require.Equal(t, accepted, a.judge(http.StatusAccepted, ""), a.name)
		}

		log := newAttackLog()
		for _, other := range insideAttacks() {
			if other.name != a.name {
				refuse(log, other)
			}
		}
		log.add(a, http.StatusNotFound, "the node has moved on")
		require.Empty(t, log.findings())
		log.requireRefused()
		require.Len(t, log.findings(), 1)
		require.Equal(t, "attacks: "+a.name+" was never refused; the last of 1 other answers was 404 the node has moved on",
			log.findings()[0].String())
	}
}

func TestAPasswordInAnyAnswerIsAFinding(t *testing.T) {
	for _, status := range []int{0, http.StatusOK, http.StatusBadRequest, http.StatusInternalServerError} {
		log := newAttackLog()
		log.add(attack{name: "a lookup", want: http.StatusOK}, status, `{"image_source": "http://user:`+hiddenPassword+`@h"}`)
		require.Equal(t, "attacks: the answer to a lookup has a password", log.findings()[0].String())
	}
}

func TestAPasswordInALogIsAFinding(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"alpha.1.log": "level=INFO url=http://user:******@h\n", "beta.2.log": "level=INFO\nlevel=INFO url=http://user:" + hiddenPassword + "@h\n",
		"users": hiddenPassword,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	require.Equal(t, []history.Finding{{Rule: "attacks", Text: "line 2 of beta.2.log has a password"}}, passwordsIn(dir))
}

func TestAPortOfARefusedInventoryIsAFinding(t *testing.T) {
	require.Empty(t, portFindings(map[string]string{"52:54:00:00:00:01": "n"}))
	require.Equal(t, []history.Finding{{Rule: "attacks", Node: "n", Text: "it has 2 ports of an inventory that was refused"}},
		portFindings(map[string]string{"52:54:00:00:00:01": "n", "52:54:0f:00:00:00": "n", "52:54:0f:00:07:6b": "n"}))
	inventory := inspectionAttacks("n", "")
	require.Contains(t, inventory[len(inventory)-1].body, `"52:54:0f:00:07:6b"`)
}

func TestTheTokenIsReadFromAnAnswer(t *testing.T) {
	for answer, want := range map[string]string{
		`{"node": {}, "config": {"agent_token": "abc"}}`:    "abc",
		`{"node": {}, "config": {"agent_token": "******"}}`: "",
		`{"node": {}, "config": {"agent_token": null}}`:     "",
		`{"node": {}, "config": {"agent_token": "abc"`:      "",
		`{"error_message": "no node"}`:                      "",
		``:                                                  "",
	} {
		require.Equal(t, want, tokenIn(answer), answer)
	}
}

// An insider attacks while its victim waits, and brings it there from each state in which it may be.
func TestAnInsiderBringsItsVictimToItsWait(t *testing.T) {
	table := states.Latest().Table()
	for _, v := range victims {
		for _, c := range []struct {
			name  string
			shown node
			token string
			lost  bool
			want  move
		}{
			{"it waits", node{State: v.waits}, "", false, lookUp},
			{"it waits and the token is known", node{State: v.waits}, "abc", true, strike},
			{"it waits and the token is lost", node{State: v.waits}, "", true, abort},
			{"it is in maintenance", node{State: v.waits, Maintenance: true}, "abc", false, endMaintenance},
			{"it is verified", node{State: states.Verifying}, "abc", false, pause},
		} {
			require.Equal(t, c.want, v.next(c.shown, c.token, c.lost), "%s: %s", v.name, c.name)
		}
		for state, words := range v.requests {
			require.Equal(t, operate, v.next(node{State: state}, "", false), "%s: %s", v.name, state)
			for _, word := range words {
				_, err := table.Request(state, word, table.Series().MaxAPIVersion())
				require.NoError(t, err, "%s: %s in %s", v.name, word, state)
			}
		}
		failed, ok := table.Next(v.waits, states.EventFail)
		require.True(t, ok)
		require.NotEmpty(t, v.requests[failed], v.name)
	}
}
