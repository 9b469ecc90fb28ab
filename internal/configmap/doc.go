// Package configmap keeps the ConfigMaps that stand for declared objects: one of a given name for each, which belongs
// to the object and is replaced whole.
//
// # Charter
//
// What is in the ConfigMap, and when it is written, is decided by the controllers. Here is what must never go wrong in
// the writing: that it is taken from nobody, that no reader sees a part of it, and that an API server which refuses it
// is heard.
//
// # Invariants
//
// An existing ConfigMap is replaced only in the version that was judged to be the owner's; a new one is applied without
// force, so that an object that came into being meanwhile under another owner is met with a conflict. One that belongs
// to nobody any more is deleted in that very version. An answer that will not change by itself is a RefusedError, any
// other failure is worth an early retry.
//
// # Trade-offs
//
// An object that was deleted and declared again under its name takes over its own old ConfigMap, because readers may
// have mounted it; so ownership goes by kind and name, and the UID in it is renewed with the next write.
package configmap
