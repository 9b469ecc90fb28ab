// Package credential tells which names and which texts speak of credentials.
//
// A name speaks by its words. A text speaks by its marks: those of issuers, a password in a URL or a connection string,
// however it is escaped, a name that speaks with a value behind it, and what looks drawn at random. Of a text with
// references it sees the rest, with a Gap for each.
//
// It guesses, and where in doubt it says yes: a value that goes into a Secret without need does no harm, one that
// stands in a manifest does. Yet what is plainly something else stays readable: @scope/package@1.2 behind host:port,
// ids of clients, paths of key files, versions, scopes. What no rule can see, such as a short password under the name
// of something else, it misses.
package credential
