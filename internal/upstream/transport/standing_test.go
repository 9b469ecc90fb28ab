package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/internal/session"
	"github.com/mooring-dev/mooring/internal/upstream/mcphttp"
)

// pipes is a network without sockets, so that time in a test can be its own.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once

	mu      sync.Mutex
	refused bool
	dials   int
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), done: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.done) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	p.mu.Lock()
	p.dials++
	refused := p.refused
	p.mu.Unlock()
	if refused {
		return nil, &net.OpError{Op: "dial", Err: io.ErrClosedPipe}
	}
	ours, theirs := net.Pipe()
	select {
	case p.conns <- theirs:
		return ours, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

type watcher struct {
	mu      sync.Mutex
	changed int
	lost    []error
}

func (w *watcher) Alive() {}
func (w *watcher) ListChanged() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.changed++
}

func (w *watcher) Lost(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lost = append(w.lost, err)
}

func (w *watcher) changes() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.changed
}

func (w *watcher) losses() []error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.lost)
}

// standing is a legacy session whose standing stream is served by a handler, in a bubble of its own time.
type standing struct {
	*watcher
	net       *pipes
	transport *Streamable
	mu        sync.Mutex
	gets      []time.Duration // since the beginning
	posts     int
	heads     []http.Header
}

func (s *standing) counts() (gets, posts int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.gets), s.posts
}

// times are those of the GETs.
func (s *standing) times() []time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.gets)
}

// hold runs test while a stream is kept that get serves; n counts GETs from 1. post answers the ping.
func hold(
	t *testing.T, get func(n int, w http.ResponseWriter, r *http.Request), post http.HandlerFunc,
	test func(t *testing.T, s *standing),
) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		s := &standing{watcher: &watcher{}, net: newPipes()}
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodGet {
				s.mu.Lock()
				s.posts++
				s.mu.Unlock()
				post(w, r)
				return
			}
			s.mu.Lock()
			s.gets = append(s.gets, time.Since(begun))
			s.heads = append(s.heads, r.Header)
			n := len(s.gets)
			s.mu.Unlock()
			get(n, w, r)
		})}
		served := make(chan struct{})
		go func() {
			defer close(served)
			_ = server.Serve(s.net)
		}()
		endpoint := &url.URL{Scheme: "http", Host: "mcp.test", Path: "/mcp"}
		client := mcphttp.New(mcphttp.Config{Endpoint: endpoint, Dial: s.net.dial})
		s.transport = NewStreamable(client, s.watcher, false)
		s.transport.session = "sid"
		s.transport.Agree("2025-11-25")
		s.transport.Keep(s.transport.GetStream, func(ctx context.Context) error {
			_, err := s.transport.Exchange(ctx, &Request{Phase: failure.Probe, ID: "p", Method: "ping"})
			return err
		})
		defer func() {
			s.transport.gone = true // no DELETE
			s.transport.Close()
			_ = server.Close()
			<-served
		}()
		test(t, s)
	})
}

func pong(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":"p","result":{}}`)
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

// elapse lets the bubble's time pass, and everything happen that is due by then.
func elapse(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// stay holds a response open.
func stay(r *http.Request, d time.Duration) {
	select {
	case <-time.After(d):
	case <-r.Context().Done():
	}
}

func events(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, text)
	_ = http.NewResponseController(w).Flush()
}

// B15: what is no stream is asked for once, and the session lives.
func TestB15_WhatIsNoStreamIsAskedForOnce(t *testing.T) {
	body := func(code int, contentType string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", contentType)
			w.WriteHeader(code)
			_, _ = io.WriteString(w, "hello")
		}
	}
	for name, answer := range map[string]http.HandlerFunc{
		"405": body(405, "text/plain"), "404": body(404, "text/plain"), "400": body(400, "text/plain"),
		"401": body(401, "text/plain"), "409": body(409, "text/plain"), "501": body(501, "text/plain"),
		"200 text": body(200, "text/plain"), "200 html": body(200, "text/html"), "200 json": body(200, "application/json"),
		"202": body(202, "text/event-stream"), "302": body(302, "text/html"),
		"405 stream": body(405, "text/event-stream"),
	} {
		t.Run(name, func(t *testing.T) {
			hold(t, func(_ int, w http.ResponseWriter, r *http.Request) { answer(w, r) }, pong, func(t *testing.T, s *standing) {
				elapse(10 * time.Minute)
				if gets, _ := s.counts(); gets != 1 || len(s.losses()) != 0 || s.changes() != 0 {
					t.Errorf("%d GETs, lost %v, %d changes", gets, s.losses(), s.changes())
				}
			})
		})
	}
}

// A 404 may also be that of a server that forgot the session: a request tells.
func TestAForgottenSessionIsFoundByItsStream(t *testing.T) {
	open := func(n int, w http.ResponseWriter, r *http.Request) {
		if n > 1 {
			w.WriteHeader(404)
			return
		}
		events(w, ": ok\n\n")
		stay(r, 30*time.Second)
	}
	hold(t, open, status(404), func(t *testing.T, s *standing) {
		elapse(5 * time.Minute)
		if len(s.losses()) != 1 || !sessionLost(s.losses()[0]) {
			t.Errorf("lost = %v", s.losses())
		}
		if gets, posts := s.counts(); gets != 2 || posts != 1 {
			t.Errorf("%d GETs, %d POSTs", gets, posts)
		}
	})
	hold(t, open, status(500), func(t *testing.T, s *standing) { // that says nothing about the session
		elapse(5 * time.Minute)
		if gets, _ := s.counts(); gets != 2 || len(s.losses()) != 0 {
			t.Errorf("%d GETs, lost %v", gets, s.losses())
		}
	})
}

// A proxy that cuts idle streams every minute costs one GET and one list a minute, for as long as it takes.
func TestAnIdleCutEveryMinuteForAnHour(t *testing.T) {
	hold(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		events(w, ": ok\n\n")
		stay(r, time.Minute)
	}, pong, func(t *testing.T, s *standing) {
		elapse(time.Hour)
		gets, _ := s.counts()
		if gets < 57 || gets > 60 || s.changes() != gets-1 || len(s.losses()) != 0 {
			t.Errorf("%d GETs, %d changes, lost %v", gets, s.changes(), s.losses())
		}
	})
}

// A stream that ends at once is opened again ever more slowly.
func TestAStreamThatEndsAtOnceIsNoHotLoop(t *testing.T) {
	hold(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
		events(w, ": ok\n\n")
	}, pong, func(t *testing.T, s *standing) {
		elapse(time.Hour)
		if gets, _ := s.counts(); gets < 50 || gets > 70 || len(s.losses()) != 0 {
			t.Errorf("%d GETs, lost %v", gets, s.losses())
		}
		for i, gap := 1, time.Duration(0); i < 7; i++ {
			last := gap
			gap = s.times()[i] - s.times()[i-1]
			if gap < last || gap < time.Second || gap > 80*time.Second {
				t.Errorf("gap %d = %v after %v", i, gap, last)
			}
		}
	})
}

func TestTroubleWithTheStreamPasses(t *testing.T) {
	for name, trouble := range map[string]http.HandlerFunc{
		"500": status(500), "503": status(503), "408": status(408), "409 after a stream": status(409),
		"cut": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		t.Run(name, func(t *testing.T) {
			hold(t, func(n int, w http.ResponseWriter, r *http.Request) {
				if n >= 2 && n <= 6 {
					trouble(w, r)
					return
				}
				events(w, ": ok\n\n")
				if n == 1 {
					stay(r, 30*time.Second)
					return
				}
				<-r.Context().Done()
			}, pong, func(t *testing.T, s *standing) {
				elapse(10 * time.Minute)
				if gets, _ := s.counts(); gets != 7 || s.changes() != 1 || len(s.losses()) != 0 {
					t.Errorf("%d GETs, %d changes, lost %v", gets, s.changes(), s.losses())
				}
			})
		})
	}
}

func TestAStreamIsTold(t *testing.T) {
	t.Run("when to come back", func(t *testing.T) {
		hold(t, func(n int, w http.ResponseWriter, r *http.Request) {
			if n == 1 {
				events(w, "retry: 20000\nid: 7\ndata:\n\n")
				return
			}
			events(w, ": ok\n\n")
			<-r.Context().Done()
		}, pong, func(t *testing.T, s *standing) {
			elapse(time.Minute)
			if gets, _ := s.counts(); gets != 2 {
				t.Fatalf("%d GETs", gets)
			}
			if gap := s.times()[1] - s.times()[0]; gap < 20*time.Second || gap > 25*time.Second {
				t.Errorf("opened again after %v", gap)
			}
			s.mu.Lock()
			h := s.heads[1]
			s.mu.Unlock()
			if h.Get("Last-Event-Id") != "7" || h.Get("Mcp-Session-Id") != "sid" || h.Get("Accept") != "text/event-stream" ||
				h.Get("Mcp-Protocol-Version") != "2025-11-25" {
				t.Errorf("headers = %v", h)
			}
		})
	})
	t.Run("by Retry-After", func(t *testing.T) {
		hold(t, func(n int, w http.ResponseWriter, r *http.Request) {
			if n == 1 {
				w.Header().Set("Retry-After", "90")
				w.WriteHeader(429)
				return
			}
			events(w, ": ok\n\n")
			<-r.Context().Done()
		}, pong, func(t *testing.T, s *standing) {
			elapse(5 * time.Minute)
			if gets, _ := s.counts(); gets != 2 || s.times()[1] < 90*time.Second {
				t.Errorf("GETs at %v", s.times())
			}
		})
	})
	t.Run("of changes, and garbage", func(t *testing.T) {
		hold(t, func(_ int, w http.ResponseWriter, r *http.Request) {
			events(w, `data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`+"\n\n"+
				`data: {"jsonrpc":"2.0","method":"notifications/message","params":{}}`+"\n\n"+
				`event: other`+"\n"+`data: not for us`+"\n\n"+
				`data: {"jsonrpc":"2.0","id":9,"method":"ping"}`+"\n\n"+
				`data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`+"\n\n")
			<-r.Context().Done()
		}, pong, func(t *testing.T, s *standing) {
			synctest.Wait()
			if _, posts := s.counts(); s.changes() != 2 || posts != 1 { // the answer to the ping
				t.Errorf("%d changes, %d POSTs", s.changes(), posts)
			}
		})
	})
}

// Where nothing listens any more the session is lost; before a stream was open it is not known to be.
func TestNothingListensAnyMore(t *testing.T) {
	hold(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close")
		events(w, ": ok\n\n")
		stay(r, 30*time.Second)
	}, pong, func(t *testing.T, s *standing) {
		synctest.Wait()
		s.net.mu.Lock()
		s.net.refused = true
		s.net.mu.Unlock()
		elapse(35 * time.Second)
		if len(s.losses()) != 0 {
			t.Errorf("lost after less than three dials: %v", s.losses())
		}
		elapse(5 * time.Minute)
		if len(s.losses()) != 1 {
			t.Fatalf("lost = %v", s.losses())
		}
		if f := failure.Classify(s.losses()[0]); f.Class != failure.Transport || f.Reason != failure.ConnectFailed || f.Sent {
			t.Errorf("failure = %+v", f)
		}
	})
}

func TestAPanicIsALostConnection(t *testing.T) {
	hold(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		events(w, ": ok\n\n")
		<-r.Context().Done()
	}, pong, func(t *testing.T, s *standing) {
		s.transport.run(func() { panic("CANARY") })
		synctest.Wait()
		if len(s.losses()) != 1 || strings.Contains(s.losses()[0].Error(), "CANARY") {
			t.Fatalf("lost = %v", s.losses())
		}
		if f := failure.Classify(s.losses()[0]); f.Class != failure.Unknown {
			t.Errorf("failure = %+v", f)
		}
		thrown := new(session.PanicError)
		if !errors.As(s.losses()[0], &thrown) || !strings.Contains(thrown.Stack, "TestAPanicIsALostConnection") ||
			strings.Contains(thrown.Stack, "CANARY") {
			t.Errorf("panic = %+v", thrown)
		}
		s.transport.run(func() { panic("again") })
		synctest.Wait()
		if len(s.losses()) != 1 {
			t.Errorf("lost was told %d times", len(s.losses()))
		}
	})
}

// Servers that ask faster than they listen are not answered beyond a bound.
func TestRepliesAreBounded(t *testing.T) {
	var flood strings.Builder
	for i := range 100 {
		_, _ = fmt.Fprintf(&flood, "data: {\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"ping\"}\n\n", i)
	}
	hold(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		events(w, flood.String())
		<-r.Context().Done()
	}, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body) // so that the server notices the end
		<-r.Context().Done()
	}, func(t *testing.T, s *standing) {
		synctest.Wait()
		if _, posts := s.counts(); posts != maxReplies {
			t.Errorf("%d replies on their way, want %d", posts, maxReplies)
		}
		elapse(replyTimeout + time.Second)
	})
}
