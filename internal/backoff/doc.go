// Package backoff knows when to try again. It reads no clock: it turns a count of failures into a time to wait, with
// jitter from a source that a test can fix, and counts what a rate allows (Bucket).
//
// # Invariants
//
// Every wait is at least 0 and at most its documented bound. A wait that a server asked for is never shortened.
// Rand is safe for concurrent use.
//
// # Trade-offs
//
// The jitter is small (10 % on retries, 20 % on cooldowns), so that a person can predict when the next try comes;
// what spreads a thundering herd besides is the limit on simultaneous connects to one address.
package backoff
