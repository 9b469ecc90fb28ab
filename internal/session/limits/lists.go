package limits

import (
	"context"
	"sync"
	"time"
)

// listPatience is how long a list holds its place at most.
const listPatience = time.Second

// Lists bounds the lists in progress.
type Lists struct{ places chan struct{} }

// NewLists returns a limit of n lists at once.
func NewLists(n int) *Lists { return &Lists{places: make(chan struct{}, n)} }

// Enter waits for a place and returns how to give it back. Its error is the cause of the context's end.
func (l *Lists) Enter(ctx context.Context) (leave func(), err error) {
	select {
	case l.places <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	free := sync.OnceFunc(func() { <-l.places })
	timer := time.AfterFunc(listPatience, free)
	return func() {
		timer.Stop()
		free()
	}, nil
}
