package mcphttp

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mooring-dev/mooring/internal/egress"
	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/test/pace"
)

func TestIdleLimits(t *testing.T) {
	start := time.Unix(1_700_000_000, 0)
	told := func(values ...string) func(*Idle) {
		return func(i *Idle) {
			for _, value := range values {
				i.told(http.Header{"Keep-Alive": {value}}, start)
			}
		}
	}
	closed := func(silences ...time.Duration) func(*Idle) {
		return func(i *Idle) {
			for _, silence := range silences {
				i.sawClosed(silence, start)
			}
		}
	}
	for name, c := range map[string]struct {
		learn func(*Idle)
		want  time.Duration
	}{
		"nothing":                     {told(), maxIdle},
		"told":                        {told("timeout=5"), 4 * time.Second},
		"told among others":           {told(`max=100, Timeout = "15"`), 14 * time.Second},
		"told too little":             {told("timeout=1"), minIdle},
		"told too much":               {told("timeout=600"), maxIdle},
		"told nothing of use":         {told("", "max=5", "timeout=", "timeout=x", "timeout=0", "notimeout5"), maxIdle},
		"told another time":           {told("timeout=5", "timeout=20"), 19 * time.Second},
		"closed once":                 {closed(5 * time.Second), maxIdle},
		"closed twice alike":          {closed(5*time.Second, 5200*time.Millisecond), 4 * time.Second},
		"closed twice, not alike":     {closed(5*time.Second, 20*time.Second), maxIdle},
		"closed alike at last":        {closed(time.Minute, 20*time.Second, 20*time.Second), 16 * time.Second},
		"closed at once":              {closed(time.Millisecond, time.Millisecond), maxIdle},
		"closed after very long":      {closed(5*time.Minute, 5*time.Minute), maxIdle},
		"closed soon, and soon again": {closed(1100*time.Millisecond, 1100*time.Millisecond), minIdle},
	} {
		i := &Idle{}
		c.learn(i)
		if got := i.limit(start); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
		if got := i.limit(start.Add(idleKept + 1)); got != maxIdle {
			t.Errorf("%s: %v after an hour", name, got)
		}
	}
}

// pipes is a network without sockets, so that time in a test can be its own. dials counts.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
	dials atomic.Int32
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}
func (p *pipes) Close() error   { close(p.done); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p *pipes) dial(context.Context, string, string) (net.Conn, error) {
	p.dials.Add(1)
	ours, theirs := net.Pipe()
	p.conns <- theirs
	return ours, nil
}

// A connection is used again for as long as the server keeps it, and not a moment after that.
func TestCallsAfterAPause(t *testing.T) {
	for name, c := range map[string]struct {
		idle   time.Duration // after which the server closes
		told   string
		pauses []time.Duration
		dials  int32
	}{
		"kept for 90 s": {0, "", []time.Duration{10 * time.Second, 80 * time.Second}, 1},
		"and no longer": {0, "", []time.Duration{91 * time.Second}, 2},
		"kept as told":  {0, "timeout=5", []time.Duration{3 * time.Second, 3 * time.Second}, 1},
		"given up before it is closed": {
			0, "timeout=5", []time.Duration{4500 * time.Millisecond, 4500 * time.Millisecond}, 3,
		},
		"closed by the server after 5 s": {
			5 * time.Second, "", []time.Duration{10 * time.Second, 10 * time.Second}, 3,
		},
		"which is learnt": {
			5 * time.Second, "",
			[]time.Duration{10 * time.Second, 10 * time.Second, 4500 * time.Millisecond, 3 * time.Second}, 4,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				network := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
				server, served := &http.Server{IdleTimeout: c.idle}, make(chan error, 1)
				var requests atomic.Int32
				server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					requests.Add(1)
					_, _ = io.Copy(io.Discard, r.Body)
					if c.told != "" {
						w.Header().Set("Keep-Alive", c.told)
					}
					w.WriteHeader(http.StatusAccepted)
				})
				go func() { served <- server.Serve(network) }()
				client := New(Config{Endpoint: parse(t, "http://h/"), Dial: network.dial})
				call := func() {
					_, err := client.Do(t.Context(), Request{
						Want: Acceptance, Method: http.MethodPost, Phase: failure.Call, Body: []byte(`{}`),
					})
					if err != nil {
						t.Fatal(err)
					}
				}
				call()
				for _, pause := range c.pauses {
					time.Sleep(pause) // of the bubble
					call()
				}
				if got := network.dials.Load(); got != c.dials {
					t.Errorf("%d dials, want %d", got, c.dials)
				}
				if got := requests.Load(); got != int32(len(c.pauses))+1 {
					t.Errorf("%d requests for %d calls", got, len(c.pauses)+1)
				}
				client.Close()
				if err := server.Close(); err != nil {
					t.Error(err)
				}
				<-served
			})
		})
	}
}

// HTTP/2 is spoken where the server offers it: one connection carries many exchanges, and one that is cut costs the
// others nothing.
func TestHTTP2(t *testing.T) {
	release := make(chan struct{})
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/wait":
			<-release
		case "/cut":
			w.WriteHeader(http.StatusOK)
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":"m-1","result":{"proto":%q}}`, r.Proto)
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	var dials atomic.Int32
	trust := x509.NewCertPool()
	trust.AddCert(server.Certificate())
	policy, err := egress.NewPolicy(egress.Options{AllowLoopback: true})
	if err != nil {
		t.Fatal(err)
	}
	client := New(Config{
		Endpoint: parse(t, server.URL), TLS: &tls.Config{RootCAs: trust}, Route: egress.NewRoute(policy, nil),
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			dials.Add(1)
			return new(net.Dialer).DialContext(ctx, network, address)
		},
	})
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), pace.Patience)
	defer cancel()
	do := func(path string) (string, error) {
		answer, err := client.Do(ctx, Request{
			Method: http.MethodPost, Phase: failure.Call, Body: []byte(`{}`), URL: parse(t, server.URL+path),
		})
		if err != nil {
			return "", err
		}
		defer answer.Close()
		m, err := answer.Next()
		return string(m.Result), err
	}
	if got, err := do("/"); err != nil || got != `{"proto":"HTTP/2.0"}` {
		t.Fatalf("%s %v", got, err)
	}
	waiting := make(chan error, 8)
	for range cap(waiting) {
		go func() {
			_, err := do("/wait")
			waiting <- err
		}()
	}
	_, err = do("/cut")
	if f := failure.Classify(err); f.Reason != failure.ConnectionLost || f.Class != failure.Transport || !f.Sent {
		t.Errorf("cut: %+v", f)
	}
	close(release)
	for range cap(waiting) {
		if err := <-waiting; err != nil {
			t.Error(err)
		}
	}
	if got := dials.Load(); got != 1 {
		t.Errorf("%d connections", got)
	}
}
