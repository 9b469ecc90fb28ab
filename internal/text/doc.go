// Package text makes text of others fit to be shown: cleaned of what is not seen, no longer than the room for it, and
// quoted where a shell reads it.
//
// Invariant: what Fit, Line and ASCII return is valid UTF-8 within its limit, whatever came in.
package text
