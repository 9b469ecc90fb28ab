// Package identity says who a caller is and what they may use, as the Kubernetes API answers: TokenReview for a token
// of audience "mooring", SubjectAccessReview for the verb "use".
//
// Invariants. A token is never kept, logged or passed on: answers are remembered under its SHA-256. A positive answer
// is asked for again after 60 s, a negative one after 10 s. While the API server cannot be reached, a positive answer
// holds until the token expires, for 10 minutes at most; whoever is not known then is told that nobody can be asked.
// Many callers with one question ask it once.
//
// Trade-offs. What a refused token claims of itself is read without proof, to tell a person what to renew; nothing is
// permitted by it.
package identity
