package session

import "github.com/mooring-dev/mooring/internal/failure"

// replayRule says whether a call that failed is sent again.
type replayRule int

const (
	replayNever     replayRule = iota
	replayOnce                 // the one resend that needs no permission
	replayRound                // as often as a round has attempts
	replayPermitted            // the same, if a person named the tool as safe to repeat
)

// replayRules is DESIGN.md section 4, "Replay", by what is done about the failure and what became of the call. What is
// not here is not sent again.
var replayRules = map[failure.CallPolicy]map[failure.Outcome]replayRule{
	failure.Replay:         {failure.NotProcessed: replayRound, failure.OutcomeUnknown: replayPermitted},
	failure.Wait:           {failure.NotProcessed: replayOnce, failure.OutcomeUnknown: replayPermitted},
	failure.Reauthenticate: {failure.NotProcessed: replayOnce},
	failure.Reopen:         {failure.NotProcessed: replayOnce},
}

// sends is what was sent of a call, and what may be.
type sends struct {
	attempts, limit   int
	resent, permitted bool
}

// allow reports whether the call may be sent again.
func (r replayRule) allow(s sends) bool {
	switch r {
	case replayOnce:
		return !s.resent
	case replayRound:
		return s.attempts < s.limit
	case replayPermitted:
		return s.attempts < s.limit && s.permitted
	case replayNever:
	}
	return false
}
