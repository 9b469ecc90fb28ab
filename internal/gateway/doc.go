// Package gateway is the MCP endpoint for agents. It knows who calls (identity), what they are offered (directory),
// and carries each call over a supervised session to the server that it leads to.
//
// Charter. github.com/modelcontextprotocol/go-sdk serves the agents' side: initialize, discovery, versions, ping and
// lists are its Server and its HTTP handler, stateless, so that one URL serves every protocol version. A call is
// taken out before the SDK's codecs: its envelope is opened once, params and result go on as bytes. Around the SDK
// stands what its handler refuses although it can be understood: forms of Accept, ids of any number, null and [] as
// params, answers in plain text. That is why a request's id is replaced on the way to the SDK and put back into its
// answer.
//
// Invariants.
//   - Nothing is offered or called that the declarations do not give to this caller at this moment, and nothing reaches
//     a server before that is decided.
//   - An agent's token goes to the Kubernetes API alone; no credential of a server goes to an agent. A session id is
//     never given out and never believed.
//   - Arguments and results are not looked into, changed or logged. Absent arguments become {}.
//   - A failing server is a tool's answer with isError, for the callers of that server alone.
//   - An answer of more than 2 s has a sign of life every 25 s: a comment of an event stream, or white space ahead of
//     JSON where the client takes no stream.
//
// Trade-offs. The SDK serves POST requests statelessly, which costs it a session for each, but for calls. Sampling and
// elicitation are not relayed. Batches, which one protocol version knew, are refused.
package gateway
