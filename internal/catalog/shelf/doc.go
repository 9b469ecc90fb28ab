// Package shelf hands what each server offers from the one who decides it, the controller of servers, to those who put
// it together for agents.
//
// What a server offers is decided in one place: list, filter and approval are judged there once, whoever is interested,
// and what was parsed is shared. A reader on the shelf sees a decision whole: the declaration's generation, the list
// that was judged and the tools that came of it belong together.
//
// Invariants. An Item is a value and its Catalog is never changed, so readers keep both. Changed is called outside the
// lock, on changes only. The shelf is memory: after a restart it is empty until the controller of servers has made its
// first pass over a server, which puts the stored catalog there before any session is up.
//
// Trade-off: the tools of every server are held in memory once more, besides the API client's copy. Reading them from
// that copy instead would cost each reader a decode, the filter and the approval of its own, and would tell nothing of
// the list that the copy was made of.
package shelf
