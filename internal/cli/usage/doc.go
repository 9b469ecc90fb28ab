// Package usage tells people that a command was called in a wrong way, and how it is called: each such error carries
// its command, so that the usage of that very command stands below it.
//
// It also knows what the program is called here, "mooring" or, as a plugin, "kubectl mooring": whatever tells a person
// to run a command asks Program for its first words.
package usage
