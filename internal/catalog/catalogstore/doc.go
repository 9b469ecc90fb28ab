// Package catalogstore tells those who build session catalogs what is known of each server: what it offers, as the
// controller of servers decided it, and how its session is at the moment of asking. There is one way to learn that
// either has changed.
//
// What a server offers is decided in one place: list, filter and approval are judged there once, however many are
// interested, and what was parsed is shared. A reader sees a decision whole: the declaration's generation, the list
// that was judged and the tools that came of it belong together.
//
// The session's snapshot is read live and not kept with the decision: who has asked a session for a new list sees at
// once that it is pending, and does not take the last one for it.
//
// Invariants. An Entry is a value and its Catalog is never changed, so readers keep both. Changed is called outside the
// lock, on changes only. The store is memory: after a restart it is empty until the controller of servers has made its
// first pass over a server, which puts the stored catalog there before any session is up.
//
// Trade-off: the tools of every server are held in memory once more, besides the API client's copy. Reading them from
// that copy instead would cost each reader a decode, the filter and the approval of its own, and would tell nothing of
// the list that the copy was made of.
package catalogstore
