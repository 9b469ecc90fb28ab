// Package text fits what people read into the room that there is for it, and quotes words for a shell.
//
// Invariant of Fit: what is returned is valid UTF-8 within its limit in bytes, whatever came in.
package text
