// Package jsontree holds JSON without interpreting it: what is read is what is written, but for white space, the
// order of keys and the spelling of escapes.
//
// Invariants. Numbers are kept as the digits that were sent, so 1.0, 1e0 and 9007199254740993 survive. Keys of an
// object are unique (the last one wins, as in JavaScript and encoding/json) and sorted by UTF-16 code units. All text
// is valid UTF-8: lone surrogates and invalid bytes become U+FFFD and are counted. Depth is bounded by MaxDepth.
// A Parser's trees share no memory that a later Parse writes to, unless Recycle said that it may.
//
// Trade-offs. The output follows RFC 8785 except that numbers are not re-serialised: their digits are content that
// must not change. A tree of slices rather than maps costs a search by comparison for each look-up and saves most
// allocations; the objects read here have few members, and look-ups are few.
package jsontree
