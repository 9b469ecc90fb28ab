// Package lease tells people's commands whether a manager runs, and since when none does: status alone cannot, as
// nothing periodic is written there.
//
// A manager that may have replicas holds a Lease by leader election. One that has none, as in `mooring run` and
// `mooring dev`, keeps a Lease of another name by Keeper, which never keeps an elected one waiting.
// Both renew it every few seconds and give it back when they stop.
//
// By Claim a manager that runs alone waits until no other does, as elected ones do for one another: of two, each would
// hold a session to every server, and overwrite what the other says in status. An elected one does not wait for one
// that runs alone: it is the cluster's own. A claim is looked at once, at the start: a manager that was suspended for
// as long as Longest does not notice that another has claimed meanwhile. It does not end then, as a manager that was
// told not to wait takes the Lease over from one that goes on.
//
// Without the right to read Leases nothing is known, and nothing is said. Nor is it said that no manager runs where
// Leases cannot be looked for in all namespaces: a manager may be in any. Clocks may differ by less than Leeway; by as
// much, a manager that died is missed late.
package lease
