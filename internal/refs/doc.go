// Package refs follows the Secrets and ConfigMaps that objects refer to: it says when one may have changed, and reads
// its values.
//
// Listing or watching Secrets is reading Secrets: a watch of metadata alone needs the same verb. So the right to do it
// is given namespace by namespace, and nothing here may need it anywhere else, nor hold anybody up where it is missing.
// For each (namespace, kind) that something refers to, a Tracker runs one metadata informer, outside any manager's
// cache. It starts with the first reference and stops Grace after the last. Events only wake the objects that refer to
// that name; values are read by a live get when they are needed, and kept nowhere.
//
// Access is a state, not an error. Before an informer starts, get, list and watch are asked by a
// SelfSubjectAccessReview. A refusal, or a 403 to any later request, makes the (namespace, kind) denied: its referrers
// are woken, ReadKeys refuses without asking, and every Recheck the question is put again. Once it is granted, the
// referrers are woken once, when the watch stands.
//
// Invariants:
//   - Track, Denied and Wake never wait for the API server. ReadKeys is one get, bounded by its context.
//   - Nothing is missed: an owner that calls Track before ReadKeys is woken for every change since. Whenever a
//     watch comes up, all referrers look once; from then on each event wakes those that refer to its name.
//   - Memory per watched object is its name, UID and resourceVersion.
//   - No lock is held across I/O or a call to Wake.
//   - When Run returns, every goroutine has ended.
//
// Trade-offs: a revocation does not end a watch that stands, since the API server does not ask again. It is noticed by
// the next ReadKeys, or the next watch (the API server ends one after 5 to 10 minutes), whichever is sooner; asking
// about every granted namespace all the time would cost more than that is worth. Grace is counted in steps of Recheck,
// so that one ticker serves all namespaces. A permission limited to single names (resourceNames) is not enough: our
// watch is of the whole namespace.
package refs
