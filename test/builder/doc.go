// Package builder makes the objects of tests: short to write, and saying only what the test is about.
//
// Each kind has a constructor that takes what every object needs, methods that set one thing each and return the
// builder, and Obj, which returns a copy. What has no method of its own is set by Mutate. A builder is not safe for
// concurrent use; the objects that it returns share nothing with it.
package builder
