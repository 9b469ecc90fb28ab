// Package logging is how the commands that run the controllers log: lines of JSON for machines, and for a person at a
// terminal lines that can be read, with the same keys. Times are UTC, as everywhere in Mooring.
//
// Info is for transitions. What controller-runtime tells of its own start and end is none: it shows where every pass
// does. The API server's warnings, which it passes on, are shown.
package logging
