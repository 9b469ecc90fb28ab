package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// grace is how long calls in flight may still run after a signal.
const grace = 5 * time.Second

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		slog.Error("sample server ended", "error", err)
		os.Exit(1)
	}
}

type config struct {
	listen, era, bearerFile string
}

func parse(args []string, out io.Writer) (config, error) {
	var c config
	flags := flag.NewFlagSet("sample-server", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.StringVar(&c.listen, "listen", "127.0.0.1:0", "address to serve on; port 0 lets the kernel choose")
	flags.StringVar(&c.era, "era", "legacy", "protocol era: legacy (with sessions) or modern (stateless)")
	flags.StringVar(&c.bearerFile, "bearer-file", "", "file with the bearer token that is required; empty: none")
	if err := flags.Parse(args); err != nil {
		return c, err
	}
	if c.era != "legacy" && c.era != "modern" {
		return c, fmt.Errorf("unknown era %q: want legacy or modern", c.era)
	}
	if c.bearerFile != "" {
		if _, err := readToken(c.bearerFile); err != nil {
			return c, err
		}
	}
	return c, nil
}

// run serves until ctx ends.
func run(ctx context.Context, args []string, out, errOut io.Writer) error {
	c, err := parse(args, errOut)
	if err != nil {
		return err
	}
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", c.listen)
	if err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	server := newServer()
	streams, endStreams := context.WithCancel(context.Background())
	defer endStreams()
	web := &http.Server{Handler: endStanding(streams, routes(server, c)), ReadHeaderTimeout: 10 * time.Second}
	if _, err := fmt.Fprintf(out, "listening http://%s/mcp\n", reachable(ln.Addr())); err != nil {
		_ = ln.Close()
		return fmt.Errorf("announcing the address: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- web.Serve(ln) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serving: %w", err)
	case <-ctx.Done():
	}
	endStreams()
	return shutdown(web, server, ended)
}

// shutdown waits for the calls in flight, then ends what is left.
func shutdown(web *http.Server, server *mcp.Server, ended <-chan error) error {
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	err := web.Shutdown(ctx)
	if err != nil {
		_ = web.Close()
	}
	if served := <-ended; !errors.Is(served, http.ErrServerClosed) {
		return fmt.Errorf("serving: %w", served)
	}
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		for session := range server.Sessions() {
			_ = session.Close()
		}
	}()
	select {
	case <-closed:
	case <-time.After(time.Second): // a session's Close waits for its calls, however long
	}
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("shutting down: %w", err)
	}
	return nil
}

// reachable is an address as a client on this machine can use it.
func reachable(a net.Addr) string {
	tcp, ok := a.(*net.TCPAddr)
	if !ok || !tcp.IP.IsUnspecified() {
		return a.String()
	}
	return net.JoinHostPort("127.0.0.1", fmt.Sprint(tcp.Port))
}
