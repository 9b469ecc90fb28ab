package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// serve serves until the end of the test; streams that stand are cut.
func serve(t *testing.T, handler http.Handler) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server
}

// Every way to the upstream server carries calls in both eras, and what is measured of it is told.
func TestTargetsAreMeasured(t *testing.T) {
	server := serve(t, counted(upstream()))
	copies, err := reverse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	translates, err := naive(t.Context(), server.URL)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{options: &options{window: 50 * time.Millisecond, rounds: 3}, upstream: server.URL}
	path := func(era string) string { return "/" + era }
	w.targets = []*target{{name: "direct", origin: server.URL, path: path}}
	for name, handler := range map[string]http.Handler{"copy": copies, "naive": translates} {
		w.targets = append(w.targets, &target{name: name, origin: serve(t, handler).URL, path: path})
	}
	r := &report{}
	for _, era := range eras {
		rows, err := w.compare(t.Context(), w, era, 2)
		if err != nil {
			t.Fatalf("%s: %v", era, err)
		}
		for _, row := range rows {
			if row.throughput <= 0 || row.p50 <= 0 || row.p99 < row.p50 || row.failed != 0 || row.upstream < 1 {
				t.Errorf("%s, %s: %+v", era, row.name, row.sample)
			}
		}
		r.throughput = append(r.throughput, table{era: era, sessions: 2, rows: rows})
	}
	var shown bytes.Buffer
	r.printThroughput(&shown, 1)
	if !strings.Contains(shown.String(), "modern, 2 sessions") || strings.Contains(shown.String(), "NaN") {
		t.Error(shown.String())
	}
	if chart := r.chart(); strings.Count(chart, "<rect") != 7 || !strings.Contains(chart, ">100 %<") {
		t.Error(chart)
	}
}

// The network to a slow server takes its time in both directions.
func TestSlowServerIsFarAway(t *testing.T) {
	server := serve(t, upstream())
	slow, err := newSlowServer(t.Context(), server.URL, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer slow.close()
	w := &world{options: &options{}, secure: []*slowServer{slow}}
	began := time.Now()
	if err := w.dialsAnew().call(t.Context()); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took < 4*oneWay {
		t.Errorf("TLS and a call took %v", took)
	}
	if authority := slow.authority(); !strings.Contains(authority, "BEGIN CERTIFICATE") {
		t.Error(authority)
	}
}

func TestMetricsAreReadByName(t *testing.T) {
	page := []byte("# TYPE a counter\na_total 12\na 3.5\n")
	for name, want := range map[string]float64{"a": 3.5, "a_total": 12, "b": 0} {
		if got := metric(page, name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
