package transport

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/internal/upstream/mcphttp"
)

// broken makes one call whose stream breaks after a priming event, and whose resumptions get serves; n counts from 1.
func broken(
	t *testing.T, get func(n int, w http.ResponseWriter),
	check func(t *testing.T, gets int, text string, err error),
) {
	synctest.Test(t, func(t *testing.T) {
		network, gets := newPipes(), 0
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				_, _ = io.ReadAll(r.Body)
				events(w, "retry: 1000\nid: 1\ndata:\n\n")
				return
			}
			gets++
			get(gets, w)
		})}
		served := make(chan struct{})
		go func() {
			defer close(served)
			_ = server.Serve(network)
		}()
		endpoint := &url.URL{Scheme: "http", Host: "mcp.test", Path: "/mcp"}
		transport := NewStreamable(mcphttp.New(mcphttp.Config{Endpoint: endpoint, Dial: network.dial}), &watcher{}, false)
		defer func() {
			transport.Close()
			_ = server.Close()
			<-served
		}()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		m, err := transport.Exchange(ctx, &Request{Phase: failure.Call, ID: "m-1", Method: "tools/call"})
		check(t, gets, string(m.Result), err)
	})
}

const result = `data: {"jsonrpc":"2.0","id":"m-1","result":{"ok":1}}` + "\n\n"

func TestResumptionPutsUpWithTrouble(t *testing.T) {
	broken(t, func(n int, w http.ResponseWriter) {
		switch n {
		case 1:
			w.WriteHeader(503)
		case 2:
			panic(http.ErrAbortHandler)
		case 3, 5, 7, 9, 11, 13: // the server closes streams on purpose, and goes on with new events
			events(w, "id: "+string(rune('a'+n))+"\ndata:\n\n")
		case 4, 6, 8, 10, 12:
			events(w, ": nothing new\n\n")
		default:
			events(w, result)
		}
	}, func(t *testing.T, gets int, text string, err error) {
		if err != nil || text != `{"ok":1}` || gets != 14 {
			t.Errorf("%s after %d GETs, %v", text, gets, err)
		}
	})
}

// A stream that never brings anything new is given up, and the outcome is that of the first break.
func TestResumptionIsBounded(t *testing.T) {
	for name, get := range map[string]func(int, http.ResponseWriter){
		"nothing new": func(_ int, w http.ResponseWriter) { events(w, ": nothing\n\n") },
		"500":         func(_ int, w http.ResponseWriter) { w.WriteHeader(500) },
	} {
		broken(t, get, func(t *testing.T, gets int, _ string, err error) {
			if f := failure.Classify(err); f.Reason != failure.ConnectionLost || !f.Sent || gets != resumeTries {
				t.Errorf("%s: %+v after %d GETs", name, f, gets)
			}
		})
	}
}

func TestResumptionEndsWithTheCall(t *testing.T) {
	broken(t, func(_ int, w http.ResponseWriter) {
		events(w, `data: {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"m-1"}}`+"\n\n")
	}, func(t *testing.T, gets int, _ string, err error) {
		var f *failure.Error
		if !errors.As(err, &f) || f.Detail != "the server cancelled the request" || gets != 1 {
			t.Errorf("%v after %d GETs", err, gets)
		}
	})
}
