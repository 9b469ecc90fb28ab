// Package cel proves the CRDs against a real API server: what they refuse, in which words, and what they let pass.
//
// A case is a valid object, one mutation and the texts that the refusal must hold. The text is what a person reads at
// `kubectl apply`, so it is asserted as it stands.
package cel
