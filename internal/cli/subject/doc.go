// Package subject is what a command is about: an object that a person has named, in a cluster that is connected to, and
// from where it is looked at, which includes whether a manager runs.
//
// That nothing of the name exists is no error to it: a command that takes several kinds looks for the next one then,
// and says None at the end.
package subject
