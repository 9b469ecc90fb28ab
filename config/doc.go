// Package config holds the manifests that Mooring is installed by, and carries in the binary those that `mooring dev`
// and the tests need: the CRDs and the access rules. What runs on the embedded control plane therefore runs under the
// very rights that a cluster gives it.
//
// Invariants: what is returned is what `kubectl apply -k config/default` applies, object for object; callers get copies
// of their own. The binding that lets the manager read Secrets is never among them: it is asked for by namespace.
//
// The trade-off: all but CRDs are unstructured, because they are applied and never looked into, so that no scheme has
// to know their kinds.
package config
