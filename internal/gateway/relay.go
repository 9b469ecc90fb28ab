package gateway

import "sync"

// relayRoom is how many notifications wait for a slow client; more are dropped.
const relayRoom = 16

// relay passes notifications of one call on to its client, in a goroutine of its own, so that a slow client does not
// hold up the server. It begins with the first of them: most calls have none.
type relay struct {
	reply *reply

	mu    sync.Mutex
	over  bool
	queue chan []byte
	ended chan struct{}
}

// pass never blocks.
func (r *relay) pass(notification []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return
	}
	if r.queue == nil {
		r.queue, r.ended = make(chan []byte, relayRoom), make(chan struct{})
		go r.run()
	}
	select {
	case r.queue <- notification:
	default:
	}
}

func (r *relay) run() {
	defer close(r.ended)
	for notification := range r.queue {
		r.reply.notify(notification)
	}
}

// stop waits until what came so far was passed.
func (r *relay) stop() {
	r.mu.Lock()
	r.over = true
	queue := r.queue
	r.mu.Unlock()
	if queue != nil {
		close(queue)
		<-r.ended
	}
}
