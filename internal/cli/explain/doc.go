// Package explain tells in a person's words what status says of an object: what state it is in, since when, because of
// what, what happens next and when, and what the reader can do. It is pure: the same object and View give the same
// text.
//
// It says nothing that status, or View.Manager, does not hold. Where status is silent by design, such as about the next
// attempt within a few seconds, it gives the bound that the product keeps.
package explain
