// Package metrics holds the numbers that Mooring shows to Prometheus: what the servers are now, and what the sessions
// went through.
//
// Two families:
//   - Gauges of one server (labels namespace, name) say what its status says. They are set by its controller on each
//     pass, and die with the object: Forget.
//   - Counters and histograms of sessions have no label of any server, so that their number is fixed and a rate over
//     them survives the objects. Their methods are plain functions of values: the session package is handed them and
//     imports nothing of this.
//
// Invariants:
//   - No label holds anything that a server or a user can write at will, but for the names of API objects.
//   - mooring_server_state is 1 for exactly one state of a known server, and 0 for all others.
//   - Every method is safe for concurrent use and does not block.
//
// Names keep to the Prometheus conventions: base units (seconds), counters in _total.
package metrics
