package main

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func routes(server *mcp.Server, c config) http.Handler {
	endpoint := mcp.NewStreamableHTTPHandler(
		func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{Stateless: c.era == "modern", PropagateRequestCancellation: true})
	mux := http.NewServeMux()
	mux.Handle("/mcp", demandToken(c.bearerFile, endpoint))
	mux.Handle("POST /admin/tools", loopbackOnly(named(func(name string) { addGreeter(server, name) })))
	mux.Handle("DELETE /admin/tools", loopbackOnly(named(func(name string) { server.RemoveTools(name) })))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	return mux
}

// endStanding ends the requests that stand for ever, GET and subscriptions/listen, when streams is done. Shutdown would
// wait for them; calls it waits for with good reason.
func endStanding(streams context.Context, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet || r.Header.Get("Mcp-Method") == "subscriptions/listen" {
			ctx, cancel := context.WithCancel(r.Context())
			defer cancel()
			defer context.AfterFunc(streams, cancel)()
			r = r.WithContext(ctx)
		}
		next.ServeHTTP(w, r)
	})
}

func readToken(file string) (string, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("reading the bearer file: %w", err)
	}
	token := strings.TrimSpace(string(raw))
	if token == "" {
		return "", errors.New("the bearer file is empty")
	}
	return token, nil
}

// demandToken answers 401 to requests without the token that is in the file now.
func demandToken(file string, next http.Handler) http.Handler {
	if file == "" {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, err := readToken(file)
		if err != nil {
			slog.Error("bearer token unavailable", "error", err)
			http.Error(w, "Internal Server Error", http.StatusInternalServerError)
			return
		}
		given, found := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if !found || subtle.ConstantTimeCompare([]byte(given), []byte(token)) != 1 {
			w.Header().Set("WWW-Authenticate", `Bearer realm="sample-server"`)
			http.Error(w, "Unauthorized", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func loopbackOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.RemoteAddr)
		if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsLoopback() {
			http.Error(w, "Forbidden", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

var toolName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

// named runs f with the query's name, when it can be a tool's.
func named(f func(name string)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := r.URL.Query().Get("name")
		if !toolName.MatchString(name) {
			http.Error(w, "name must match "+toolName.String(), http.StatusBadRequest)
			return
		}
		f(name)
		w.WriteHeader(http.StatusNoContent)
	})
}
