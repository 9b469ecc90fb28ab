// Package credential decides which values of a client's file may be in clear.
//
// A value goes into the Secret when its name speaks of a credential, or when it is not plainly Harmless. Harmless is a
// list of what is allowed, not of what credentials look like: numbers, paths, URLs, names of packages, images and
// hosts, and lists of words that a person would write. Where in doubt the value goes into the Secret: there it does no
// harm. Of a text with references it sees the rest, with a Gap for each.
//
// A short password of letters alone under the name of something else cannot be told from a word, and stays in clear.
package credential
