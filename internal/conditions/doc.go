// Package conditions writes status conditions so that the rules about them hold by construction.
//
// A Setter is bound to the generation of one object for one pass. Every condition it writes says which generation it
// speaks of; its lastTransitionTime moves only when its status does; its message fits; its neighbours are left alone.
//
// Invariants (Kubernetes API conventions, and kstatus of sigs.k8s.io/cli-utils):
//   - Reconciling and Stalled are only present when True, and never both: kstatus takes the first that it finds.
//   - A summary is never better than its roots: a root that is missing, or that speaks of an older generation, is not
//     known.
//   - The same calls with the same words change nothing and report that, so that a quiet object costs no write.
//   - A message is at most MaxMessage bytes of valid UTF-8.
//
// The package knows no kind and no reason of any kind, but for ReasonProgressing: those stand beside the types. It
// does not decide what is wrong; it says it properly.
//
// Trade-off: a Setter changes the slice in place. The caller owns it, which an object read from a cache is not before
// it was deep-copied.
package conditions
