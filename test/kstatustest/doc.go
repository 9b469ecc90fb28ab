// Package kstatustest asserts in tests that an object's status is honest to tools that read it by kstatus: Flux,
// kubectl plugins, and whatever else is built on sigs.k8s.io/cli-utils.
//
// The verdict is kstatus's own; the laws are those of our status contract:
//   - the object is Current exactly when Ready is True, Failed exactly when it is Stalled, InProgress otherwise, once
//     its generation was observed; InProgress before;
//   - Reconciling and Stalled are never both there, and only there when True; one of them is there exactly when
//     Ready is not True;
//   - no generation is spoken of that does not exist yet;
//   - each condition is there once, with a reason, a transition time and a message that fits.
//
// Trade-off: the laws hold of every object at every moment, so that a scenario can check whatever it happens to
// read; what the reasons should be is the scenario's own to assert.
package kstatustest
