// Package credential tells which names and which texts speak of credentials.
//
// It guesses, and where in doubt it says yes: a value that goes into a Secret without need does no harm, one that
// stands in a manifest does. What no rule can see, such as a short password under the name of something else,
// it misses.
package credential
