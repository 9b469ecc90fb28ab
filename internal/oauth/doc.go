// Package oauth gets access tokens by the client credentials grant (RFC 6749 section 4.4) and keeps them fresh.
//
// Charter: a Source answers Token from memory whenever it can. A token that is in use is replaced at 70 to 80 % of its
// life, outside of whatever its users are doing. Whoever needs a token while there is none waits for the one mint that
// all of them share. Sources are kept for the whole process under a fingerprint of what they are made of, so that
// connections that are made anew, and servers that are declared alike, share one token.
//
// Invariants:
//   - At most one mint of a Source is in progress. It runs on a context of its own for 10 s at most: a caller that
//     leaves takes nothing with it. A mint that failed is not repeated for a second, or for as long as the token
//     server asks; until then its failure is the answer.
//   - The token URL is the declared one. No metadata is read, no redirect followed, and every address dialled is judged
//     by the policy of package egress, through a proxy of the environment too.
//   - A refused token is replaced on request, at most once in 10 s, and stays in use for others until there is another.
//   - No error holds what the token server said: no body, description or header. Of its answer only the status, a told
//     waiting time and an error code from a fixed list are passed on.
//   - No goroutine outlives a mint, and nothing needs to be closed: timers start the mints, and a Source that nobody
//     uses is refreshed once more at most and forgotten after an hour.
//
// Failures have the reason TokenAcquisitionFailed and never count as sent, since the MCP server heard nothing. A
// refusal (4xx but for 408 and 429) is class auth: only another credential helps. Everything else keeps the class of
// what happened to the exchange with the token server, so that an outage there heals by itself.
//
// Trade-offs: the MCP server's CA bundle is trusted for the token server too, as both mostly live under one private
// authority and the declaration has one place for it; whoever wrote that declaration chose both. The credential is sent
// by HTTP Basic, which every authorization server must know (RFC 6749 section 2.3.1), and in the body only where that
// was refused; what worked is remembered. An answer without expires_in is taken to live 5 minutes, one without
// token_type to be a bearer token. A failed refresh shows nowhere while the old token is good. The MCP SDK's own grant
// is not used: it looks the token server up at the MCP server, and binds tokens to the context of one request.
package oauth
