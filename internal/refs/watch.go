package refs

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
)

// watch follows one scope, from its first reference until nobody has needed it for a while. One goroutine owns it:
//
//	ask ──granted──► observe ──refused──► await ──granted──► observe …
//	  └──refused──► await
type watch struct {
	scope   scope
	tracker *Tracker
	// again holds one request to ask for access once more.
	again chan struct{}
	// guarded is held by the Tracker's lock.
	guarded watchGuarded
}

type watchGuarded struct {
	// referrers are the owners of references, by the name referred to.
	referrers map[string]sets.Set[owner]
	// idleSince is when the last reference went; it means nothing while there are any.
	idleSince time.Time
	denied    bool
	// round is the present time of granted access, or the last one; nil before the first.
	round *round
	// stop ends the watch. It does nothing for one that has not started.
	stop func()
}

// round is one time of granted access. A 403 that belongs to an earlier one says nothing about this.
type round struct{ stop func() }

func newWatch(t *Tracker, s scope) *watch {
	return &watch{
		scope:   s,
		tracker: t,
		again:   make(chan struct{}, 1),
		guarded: watchGuarded{referrers: map[string]sets.Set[owner]{}, stop: func() {}},
	}
}

func (g *watchGuarded) refer(name string, by owner) {
	if g.referrers[name] == nil {
		g.referrers[name] = sets.New[owner]()
	}
	g.referrers[name].Insert(by)
}

func (g *watchGuarded) release(name string, by owner) {
	g.referrers[name].Delete(by)
	if g.referrers[name].Len() > 0 {
		return
	}
	delete(g.referrers, name)
	if len(g.referrers) == 0 {
		g.idleSince = time.Now()
	}
}

func (g *watchGuarded) all() sets.Set[owner] {
	all := sets.New[owner]()
	for _, owners := range g.referrers {
		all = all.Union(owners)
	}
	return all
}

// run is the watch's goroutine.
func (w *watch) run(ctx context.Context) {
	// Where access cannot be asked for, it is tried: a refusal then comes as a 403.
	granted, err := w.ask(ctx)
	granted = granted || err != nil
	for ctx.Err() == nil {
		if granted {
			w.observe(ctx)
		} else {
			w.refuse(nil)
		}
		granted = w.awaitGrant(ctx)
	}
}

// observe runs an informer until access is refused or ctx ends.
func (w *watch) observe(ctx context.Context) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	informer, synced := w.newInformer(w.permit(stop))
	var waiting sync.WaitGroup
	defer waiting.Wait()
	waiting.Go(func() {
		select {
		case <-ctx.Done():
		case <-synced:
			w.wakeAll()
		}
	})
	informer.RunWithContext(klog.NewContext(ctx, w.tracker.log))
}

// awaitGrant asks again whenever told to, until access is granted; false means that ctx ended first.
func (w *watch) awaitGrant(ctx context.Context) bool {
	for {
		select {
		case <-ctx.Done():
			return false
		case <-w.again:
		}
		if granted, _ := w.ask(ctx); granted {
			w.tracker.log.Info("access granted", "namespace", w.scope.namespace, "kind", w.scope.kind)
			return true
		}
	}
}

// askAgain does not block.
func (w *watch) askAgain() {
	select {
	case w.again <- struct{}{}:
	default:
	}
}

// permit begins a round, which stop ends.
func (w *watch) permit(stop func()) *round {
	w.tracker.mu.Lock()
	defer w.tracker.mu.Unlock()
	w.guarded.denied = false
	w.guarded.round = &round{stop: stop}
	return w.guarded.round
}

// refuse notes that access was refused in a round (nil: before any), ends it and wakes the referrers. It does nothing
// when that is known, or when the round is over.
func (w *watch) refuse(r *round) {
	referrers, changed := w.deny(r)
	if !changed {
		return
	}
	w.tracker.log.Info("access denied", "namespace", w.scope.namespace, "kind", w.scope.kind)
	w.wake(referrers)
}

func (w *watch) deny(r *round) (referrers sets.Set[owner], changed bool) {
	w.tracker.mu.Lock()
	defer w.tracker.mu.Unlock()
	if w.guarded.denied || w.guarded.round != r {
		return nil, false
	}
	w.guarded.denied = true
	if r != nil {
		r.stop()
	}
	return w.guarded.all(), true
}

// wakeAll wakes every referrer once.
func (w *watch) wakeAll() {
	w.tracker.mu.Lock()
	referrers := w.guarded.all()
	w.tracker.mu.Unlock()
	w.wake(referrers)
}

// wakeName wakes those that refer to one name.
func (w *watch) wakeName(name string) {
	w.tracker.mu.Lock()
	referrers := w.guarded.referrers[name].Clone()
	w.tracker.mu.Unlock()
	w.wake(referrers)
}

func (w *watch) wake(owners sets.Set[owner]) {
	for owner := range owners {
		w.tracker.wake(owner)
	}
}
