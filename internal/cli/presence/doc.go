// Package presence tells people's commands whether a manager runs, and since when none does: status alone cannot, as
// nothing periodic is written there.
//
// A manager that may have replicas holds a Lease by leader election. One that has none, as in `mooring run` and
// `mooring dev`, keeps a Lease of another name by Keeper: it stands in nobody's way, and no other manager waits for it.
// Both renew it every few seconds and give it back when they stop.
//
// Whoever may not read Leases learns nothing, and is told nothing. Nor is it said that no manager runs where Leases
// cannot be looked for in all namespaces: a manager may be in any. Clocks may differ by less than Leeway; by as much, a
// manager that died is missed late.
package presence
