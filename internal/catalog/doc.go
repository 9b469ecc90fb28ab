// Package catalog says what is offered: the tools of one server, the names under which agents see them, what of them
// was approved, and the documents in which all this is stored for agents and for the next process.
//
// It reads tools per tool from raw JSON. Whatever one tool is like, the others are published. Schemas are content:
// key order and white space may change, nothing else does, numbers keep their digits, and no schema is ever decoded
// into a typed structure or fetched from anywhere. Where published content differs from what the server sent, a Warning
// says so.
//
// Invariants. The package is pure: no clock, no randomness, no I/O. The same input gives the same bytes. A Catalog's
// tools are sorted by raw name, because the order in which servers list them carries no meaning and changes between
// two lists; so equal sets have equal bytes and equal digests. An exposed name is a function of server and raw name
// alone. Every stored document carries a schemaVersion and a digest that Decode proves. Values are not changed after
// they were returned: they may be shared and kept.
//
// Trade-offs. A tool's Digest covers what a model or a client acts on (name, title, description, schemas, annotations)
// and leaves out the rest (_meta, icons), so that pinning does not alarm on decoration; equal digests therefore do not
// mean equal bytes, and who writes a ConfigMap compares the encoded documents. Digests are of the text as published: a
// release that cleans text differently may show drift once. Text that people and models read is cleaned of hidden
// characters; where the exact bytes matter (names, property names, enum and default values, patterns), nothing is
// changed, and a tool that hides characters there is withheld instead.
package catalog
