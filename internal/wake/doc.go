// Package wake carries "look at this object again" from whatever noticed an edge (a session, a Secret watch, a
// timer) to the controller that owns the object.
//
// A Feed is a controller-runtime source. It captures the controller's work queue when it is started and adds keys to it
// directly; the queue does what a queue does best, which is to keep one entry per key.
//
// Invariants:
//   - Wake never blocks and never fails, before the start, while running and after the end alike. It may be called
//     with locks held.
//   - A key woken before the start is not lost: it is kept, once, and added when the queue is there. A controller has
//     no queue before it is elected leader (or warmed up), and sessions may have news before that.
//   - A wake says nothing but the key. The reconciler reads the present state; edges that happen in between are joined.
//
// Trade-off: controller-runtime's source.Channel would do the same with less code, but its buffer is bounded and a send
// to a full buffer blocks the sender. Capturing the queue needs no goroutine and no buffer.
package wake
