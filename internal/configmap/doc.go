// Package configmap keeps the ConfigMaps that stand for declared objects: one of a given name for each, which belongs
// to the object and is replaced whole.
//
// # Charter
//
// What is in the ConfigMap, and when it is urgent to write it, is decided by the controllers. Here is what must never
// go wrong: that it is taken from nobody, that no reader sees a part of it, that it is decoded once for each version,
// and written only when it differs and within a budget, and that an API server which rejects it is heard.
//
// # Invariants
//
// An existing ConfigMap is replaced only in the version that was judged to be the owner's, and a new one is created,
// not merged into what came into being meanwhile. Data is replaced whole, whoever wrote it; labels, annotations and
// owners of others stay. One that belongs to nobody any more is deleted in that very version. An answer that will not
// change by itself is a WriteRejected, any other failure is worth an early retry.
//
// # Trade-offs
//
// An object that was deleted and declared again under its name takes over its own old ConfigMap, because readers may
// have mounted it; so ownership goes by kind and name, and the UID in it is renewed with the next write.
//
// Not server-side apply: it leaves what another manager of fields owns too, after a restored backup for one, so that
// withdrawn tools would stay, and it merges into an object that somebody created a moment ago.
package configmap
