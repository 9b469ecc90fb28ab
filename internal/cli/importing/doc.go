// Package importing is `mooring import`: it reads a client's file, has it translated and prints manifests.
//
// Manifests go to standard output and nothing else does, so that they can be piped into kubectl. What was decided,
// assumed and left out goes to standard error, entry by entry; values of credentials never do. The command fails when
// the file cannot be read or nothing of it could be translated, not when a single entry could not.
package importing
