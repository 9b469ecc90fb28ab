package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// silence is how long nothing is said before a call.
const silence = 10 * time.Second

// figure is one thing that was measured by itself.
type figure struct {
	what, value string
}

// measureOthers measures what does not depend on how many agents call.
func (o *options) measureOthers(ctx context.Context, w *world) ([]figure, error) {
	var all []figure
	for _, measure := range []func(context.Context) ([]figure, error){w.opening, w.pausing, w.idling} {
		figures, err := measure(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, figures...)
	}
	return all, nil
}

// opening measures how long a new session takes until its first answer.
func (w *world) opening(ctx context.Context) ([]figure, error) {
	var figures []figure
	for _, t := range []*target{w.targets[0], w.gateway} {
		var took []float64
		for range 20 {
			a := newAgent(t, "legacy")
			began := time.Now()
			err := errors.Join(a.open(ctx), a.call(ctx))
			took = append(took, ms(time.Since(began)))
			a.close()
			if err != nil {
				return nil, fmt.Errorf("session open: %w", err)
			}
		}
		figures = append(figures, figure{"session opened and first call, " + t.name, fmt.Sprintf("%.2f ms", median(took))})
	}
	return figures, nil
}

// pausing measures calls after silence, over TLS to servers 20 ms away.
func (w *world) pausing(ctx context.Context) ([]figure, error) {
	kinds := []string{"through Mooring, to a server that keeps idle connections",
		"through Mooring, to a server that closes them after 5 s", "by a client that dials anew"}
	agents := []*agent{w.secureAgent(0), w.secureAgent(1), w.dialsAnew()}
	took := make([][]float64, len(agents))
	for round := range w.pauses + 1 {
		for i, a := range agents {
			began := time.Now()
			if err := a.call(ctx); err != nil {
				return nil, fmt.Errorf("%s: %w", kinds[i], err)
			}
			if round > 0 {
				took[i] = append(took[i], ms(time.Since(began)))
			}
		}
		if round < w.pauses {
			select {
			case <-time.After(silence):
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
	}
	var figures []figure
	for i, kind := range kinds {
		if len(took[i]) > 0 {
			figures = append(figures, figure{
				"a call after 10 s of silence over TLS, 20 ms away, " + kind, fmt.Sprintf("%.1f ms", median(took[i])),
			})
		}
	}
	return figures, nil
}

func (w *world) secureAgent(i int) *agent {
	t := *w.gateway
	t.path = func(string) string { return "/servers/default/" + secureName(i) + "/mcp" }
	return newAgent(&t, "modern")
}

func (w *world) dialsAnew() *agent {
	trust := x509.NewCertPool()
	trust.AddCert(w.secure[0].server.Certificate())
	a := newAgent(&target{origin: w.secure[0].url, path: func(era string) string { return "/" + era }}, "modern")
	a.http.Transport = &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{RootCAs: trust, ServerName: "example.com", MinVersion: tls.VersionTLS12},
	}
	return a
}

// idling measures what agents cost that wait on open streams.
func (w *world) idling(ctx context.Context) ([]figure, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	before, err := rssOf(w.gateway.pid)
	if err != nil {
		return nil, err
	}
	t := *w.gateway
	for i := range w.idle {
		if i%streamsAnAgent == 0 {
			if t.token, err = w.token(ctx, agentName(i/streamsAnAgent)); err != nil {
				return nil, err
			}
		}
		a := newAgent(&t, "legacy")
		if err := errors.Join(a.open(ctx), a.listen(ctx)); err != nil {
			return nil, fmt.Errorf("idle agent %d: %w", i, err)
		}
	}
	after, err := rssOf(w.gateway.pid)
	return []figure{
		{"resident memory of the gateway after the load", fmt.Sprintf("%.0f MiB", before)},
		{fmt.Sprintf("memory for each of %d idle agents with an open stream", w.idle),
			fmt.Sprintf("%.0f KiB", max(0, after-before)*1024/float64(max(1, w.idle)))},
	}, err
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
