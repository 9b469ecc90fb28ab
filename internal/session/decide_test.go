package session

import (
	"testing"

	"github.com/mooring-dev/mooring/internal/failure"
)

func TestReplay(t *testing.T) {
	fresh := sends{attempts: 1, limit: 3}
	permitted := sends{attempts: 1, limit: 3, permitted: true}
	resent := sends{attempts: 2, limit: 3, resent: true}
	last := sends{attempts: 3, limit: 3, permitted: true}
	cases := []struct {
		what                           string
		policy                         failure.CallPolicy
		outcome                        failure.Outcome
		fresh, permitted, resent, last bool
	}{
		{"not sent", failure.Replay, failure.NotProcessed, true, true, true, false},
		{"sent, then lost", failure.Replay, failure.OutcomeUnknown, false, true, false, false},
		{"answered with an error status", failure.Replay, failure.Answered, false, false, false, false},
		{"429", failure.Wait, failure.NotProcessed, true, true, false, true},
		{"503 with Retry-After", failure.Wait, failure.OutcomeUnknown, false, true, false, false},
		{"401 to a credential that has changed", failure.Reauthenticate, failure.NotProcessed, true, true, false, true},
		{"forgotten session", failure.Reopen, failure.NotProcessed, true, true, false, true},
		{"403", failure.Fail, failure.Answered, false, false, false, false},
		{"a body that is not MCP", failure.Fail, failure.OutcomeUnknown, false, false, false, false},
	}
	for _, c := range cases {
		rule := replayRules[c.policy][c.outcome]
		for name, want := range map[string]struct {
			sends sends
			again bool
		}{
			"first attempt": {fresh, c.fresh}, "first attempt of a permitted tool": {permitted, c.permitted},
			"resent once": {resent, c.resent}, "last attempt": {last, c.last},
		} {
			if got := rule.allow(want.sends); got != want.again {
				t.Errorf("%s, %s: sent again is %v, want %v", c.what, name, got, want.again)
			}
		}
	}
}
