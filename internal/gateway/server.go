package gateway

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Server serves a Gateway on one listener until its context ends, then lets the requests in flight end.
type Server struct {
	Gateway  *Gateway
	Listener net.Listener
	// TLS is nil for plain HTTP.
	TLS *tls.Config
	// Drain is how long requests in flight may go on.
	Drain time.Duration
	// Led: it serves only where this process leads.
	Led bool
}

// Limits of a connection.
const (
	headerTimeout = 10 * time.Second
	idleTimeout   = 5 * time.Minute // longer than clients and load balancers keep connections
	maxHeader     = 64 << 10
)

// NeedLeaderElection tells a manager when to start the server.
func (s *Server) NeedLeaderElection() bool { return s.Led }

// Start serves until ctx ends and the requests in flight have ended, or had their time.
func (s *Server) Start(ctx context.Context) error {
	web := &http.Server{
		Handler: s.Gateway, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		TLSConfig: s.TLS,
	}
	ended := make(chan error, 1)
	go func() { ended <- s.serve(web) }()
	select {
	case err := <-ended:
		return fmt.Errorf("gateway: %w", err)
	case <-ctx.Done():
	}
	s.Gateway.endStreams()
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.Drain)
	defer cancel()
	if err := web.Shutdown(closing); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("gateway: %w", err)
	}
	return web.Close()
}

func (s *Server) serve(web *http.Server) error {
	if s.TLS != nil {
		return web.ServeTLS(s.Listener, "", "")
	}
	return web.Serve(s.Listener)
}
