package session

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

const (
	// dialPatience and listPatience are how long a connect and a list hold their places at most: what is spread is the
	// load of handshakes and of reading, and one that hangs causes none.
	dialPatience = 2 * time.Second
	listPatience = time.Second
	// queueLength is how many calls of one caller may wait for a place.
	queueLength = 64
)

// errOverloaded is returned to a caller that has too many calls waiting already.
var errOverloaded = errors.New("too many calls waiting")

// limiter bounds what is in progress at once: all connects (dials), all lists, the calls to one server. Those that wait
// go in by their rank, the lowest first, and within a rank in the order in which they came.
type limiter struct {
	perKey   int           // the most of one key; 0 is no bound
	patience time.Duration // after which a place is given back anyway; 0 is never

	mu      sync.Mutex
	guarded struct {
		limit, inUse int
		ofKey        map[string]int // in use
		waiting      []*ticket
		rank         int // the highest that was let in
	}
}

type ticket struct {
	key  string
	rank int
	open chan struct{} // closed when it is let in
}

func newLimiter(limit, perKey int, patience time.Duration) *limiter {
	l := &limiter{perKey: perKey, patience: patience}
	l.guarded.limit, l.guarded.ofKey = limit, map[string]int{}
	return l
}

// resize changes the number of places. Those in use stay.
func (l *limiter) resize(limit int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.guarded.limit = limit
	l.admit()
}

// enter waits for a place and returns how to give it back, which may be called twice. Its error is the cause of the
// context's end.
func (l *limiter) enter(ctx context.Context, key string, rank int) (leave func(), err error) {
	t := &ticket{key: key, rank: rank, open: make(chan struct{})}
	l.mu.Lock()
	l.enqueue(t)
	l.mu.Unlock()
	return l.wait(ctx, t)
}

// takeTurn is enter where keys take turns, so that one that sends many never keeps another waiting for more than one
// each. Its error is errOverloaded when too many of the key wait.
func (l *limiter) takeTurn(ctx context.Context, key string) (leave func(), err error) {
	t := &ticket{key: key, open: make(chan struct{})}
	l.mu.Lock()
	own := 0
	t.rank = l.guarded.rank
	for _, other := range l.guarded.waiting {
		if other.key == key {
			own++
			t.rank = max(t.rank, other.rank)
		}
	}
	t.rank++
	if own < queueLength {
		l.enqueue(t)
	}
	l.mu.Unlock()
	if own >= queueLength {
		return nil, errOverloaded
	}
	return l.wait(ctx, t)
}

func (l *limiter) wait(ctx context.Context, t *ticket) (leave func(), err error) {
	select {
	case <-t.open:
	case <-ctx.Done():
		l.abandon(t)
		return nil, context.Cause(ctx)
	}
	free := sync.OnceFunc(func() { l.leave(t.key) })
	if l.patience == 0 {
		return free, nil
	}
	timer := time.AfterFunc(l.patience, free)
	return func() {
		timer.Stop()
		free()
	}, nil
}

func (l *limiter) enqueue(t *ticket) {
	at := slices.IndexFunc(l.guarded.waiting, func(other *ticket) bool { return other.rank > t.rank })
	if at < 0 {
		at = len(l.guarded.waiting)
	}
	l.guarded.waiting = slices.Insert(l.guarded.waiting, at, t)
	l.admit()
}

// admit lets in those that there is a place for.
func (l *limiter) admit() {
	g := &l.guarded
	g.waiting = slices.DeleteFunc(g.waiting, func(t *ticket) bool {
		if g.inUse >= g.limit || l.perKey > 0 && g.ofKey[t.key] >= l.perKey {
			return false
		}
		g.inUse++
		g.ofKey[t.key]++
		g.rank = max(g.rank, t.rank)
		close(t.open)
		return true
	})
}

func (l *limiter) leave(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.guarded.inUse--
	if l.guarded.ofKey[key]--; l.guarded.ofKey[key] == 0 {
		delete(l.guarded.ofKey, key)
	}
	l.admit()
}

// abandon takes t out of the queue, or gives back the place that it was given meanwhile.
func (l *limiter) abandon(t *ticket) {
	l.mu.Lock()
	at := slices.Index(l.guarded.waiting, t)
	if at >= 0 {
		l.guarded.waiting = slices.Delete(l.guarded.waiting, at, at+1)
	}
	l.mu.Unlock()
	if at < 0 {
		l.leave(t.key)
	}
}
