// Package words takes the words that people type for those that are meant: every name of a kind, and a name that
// nothing has for one that is nearly the same.
package words
