package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"runtime"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// stats are what a process of the benchmark tells of itself.
type stats struct {
	// Requests are those that were served, but for the ones that ask for this.
	Requests int64
	// Mallocs are all objects that were ever allocated.
	Mallocs uint64
}

// play serves in a role until the context ends, and announces where on the first line of its output.
func (o *options) play(ctx context.Context) error {
	var (
		handler http.Handler
		err     error
	)
	switch o.role {
	case "upstream":
		handler = upstream()
	case "reverse":
		handler, err = reverse(o.upstream)
	case "naive":
		handler, err = naive(ctx, o.upstream)
	default:
		err = fmt.Errorf("no role %q", o.role)
	}
	if err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stdout, "listening http://%s\n", listener.Addr())
	server := &http.Server{Handler: counted(handler)} //nolint:gosec // on loopback, for a minute
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// counted counts requests, and tells stats.
func counted(next http.Handler) http.Handler {
	var requests atomic.Int64
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/stats" {
			requests.Add(1)
			next.ServeHTTP(w, r)
			return
		}
		var memory runtime.MemStats
		runtime.ReadMemStats(&memory)
		_ = json.NewEncoder(w).Encode(stats{Requests: requests.Load(), Mallocs: memory.Mallocs})
	})
}

type echoed struct {
	Text string `json:"text"`
}

// upstream is a server of the SDK with one tool, in both eras.
func upstream() http.Handler {
	server := mcp.NewServer(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "echo", Description: "Says what it is told."},
		func(_ context.Context, _ *mcp.CallToolRequest, in echoed) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Text}}}, nil, nil
		})
	return inBothEras(server)
}

// inBothEras serves /legacy with sessions, and /modern without.
func inBothEras(server *mcp.Server) http.Handler {
	mux := http.NewServeMux()
	for _, era := range eras {
		mux.Handle("/"+era, mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
			&mcp.StreamableHTTPOptions{Stateless: era == "modern"}))
	}
	return mux
}

// reverse copies.
func reverse(to string) (http.Handler, error) {
	target, err := url.Parse(to)
	if err != nil {
		return nil, err
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.Transport = &http.Transport{MaxIdleConnsPerHost: 1000}
	return proxy, nil
}

// naive has a client of the SDK behind a server of the SDK.
func naive(ctx context.Context, to string) (http.Handler, error) {
	mux := http.NewServeMux()
	for _, era := range eras {
		client := mcp.NewClient(&mcp.Implementation{Name: "naive", Version: "1"}, nil)
		session, err := client.Connect(ctx, &mcp.StreamableClientTransport{
			Endpoint: to + "/" + era, HTTPClient: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1000}},
		}, nil)
		if err != nil {
			return nil, err
		}
		listed, err := session.ListTools(ctx, nil)
		if err != nil {
			return nil, err
		}
		server := mcp.NewServer(&mcp.Implementation{Name: "naive", Version: "1"}, nil)
		for _, tool := range listed.Tools {
			server.AddTool(tool, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return session.CallTool(ctx, &mcp.CallToolParams{Name: r.Params.Name, Arguments: r.Params.Arguments})
			})
		}
		mux.Handle("/"+era, inBothEras(server))
	}
	return mux, nil
}
