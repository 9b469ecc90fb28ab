// Package breaker is the state machine that decides whether one server may be tried now. It is pure: it is given the
// time, starts nothing, waits for nothing and locks nothing; package session guards it and acts on it.
//
// Every try takes a Permit and ends it exactly once: Answered (a result or a well-formed JSON-RPC error came),
// Rejected (a 403 or another 4xx, which neither counts nor clears), Failed, or Cancelled (nothing was learnt).
//
//	Closed       tries pass. As many failed ones in a row as a round has attempts open the breaker.
//	Waiting      opened without a strike: the server limits us, forgets sessions, or we suspect ourselves.
//	Quarantined  opened by a strike, for cooldown·2^(strikes−1) ± 20 %.
//	Retired      refused, or as many strikes as allowed; left by a wake or a slow timed probe.
//
// # Invariants
//
// An open breaker lets one probe through at a time. Only a probe's outcome moves an open breaker: what else was in
// flight when it opened neither adds a strike nor closes it. A wake grants exactly one attempt, whose failure never
// makes the state worse. A wait that the server asked for is never shortened, except when another connection was
// configured, which it did not speak of.
//
// # Trade-offs
//
// Waits without a strike grow like cooldowns, up to the probe interval: a limiter that says "retry after 0" would
// else be asked for ever at the pace of the first cooldown. A refusal that an intermediary may cause (an HTML page
// during maintenance) is believed only after as many in a row as a round has attempts, even at a half-open probe.
package breaker
