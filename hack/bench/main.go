package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"
)

// eras are the protocol's, as paths of the upstream server and the proxies.
var eras = []string{"legacy", "modern"}

type options struct {
	role, upstream string
	bin            string
	rounds         int
	window         time.Duration
	sessions       []int
	idle           int
	pauses         int
	markdown       string
	profiles       string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	o := options{sessions: []int{1, 8, 64}}
	flag.StringVar(&o.role, "role", "", "what this process is: upstream, reverse or naive; empty: the benchmark")
	flag.StringVar(&o.upstream, "upstream", "", "origin that a proxy leads to")
	flag.StringVar(&o.bin, "bin", "bin", "directory with mooring, etcd and kube-apiserver")
	flag.IntVar(&o.rounds, "rounds", 5, "how often everything is measured; medians are shown")
	flag.DurationVar(&o.window, "window", 2*time.Second, "how long one measurement takes")
	flag.IntVar(&o.idle, "idle", 300, "how many idle agents with open streams are measured")
	flag.IntVar(&o.pauses, "pauses", 3, "how many calls after 10 s of silence are measured")
	flag.StringVar(&o.profiles, "profiles", "", "directory for profiles of the gateway under load, instead of tables")
	flag.StringVar(&o.markdown, "markdown", "", "file to write the tables to, with a chart beside it")
	flag.Parse()
	run := o.benchmark
	if o.role != "" {
		run = o.play
	}
	if err := run(ctx); err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// benchmark measures everything and prints it.
func (o *options) benchmark(ctx context.Context) (err error) {
	w := &world{options: o}
	defer func() { err = errors.Join(err, w.stop()) }()
	if err := w.start(ctx); err != nil {
		return err
	}
	if o.profiles != "" {
		return w.profile(ctx)
	}
	r := &report{machine: machine(), rounds: o.rounds, window: o.window}
	for _, era := range eras {
		for _, sessions := range o.sessions {
			rows, err := o.compare(ctx, w, era, sessions)
			if err != nil {
				return fmt.Errorf("%s, %d sessions: %w", era, sessions, err)
			}
			r.throughput = append(r.throughput, table{era: era, sessions: sessions, rows: rows})
			r.printThroughput(os.Stdout, len(r.throughput)-1)
		}
	}
	if r.others, err = o.measureOthers(ctx, w); err != nil {
		return err
	}
	r.printOthers(os.Stdout)
	if o.markdown == "" {
		return nil
	}
	return r.write(o.markdown)
}

// row is one target's medians.
type row struct {
	name string
	sample
}

// compare measures every target in turn, as often as there are rounds.
func (o *options) compare(ctx context.Context, w *world, era string, sessions int) ([]row, error) {
	samples := make([][]sample, len(w.targets))
	for range o.rounds {
		for i, target := range w.targets {
			s, err := w.measure(ctx, target, era, sessions)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", target.name, err)
			}
			samples[i] = append(samples[i], s)
		}
	}
	var rows []row
	for i, target := range w.targets {
		rows = append(rows, row{target.name, medians(samples[i])})
	}
	return rows, nil
}

// median is the middle one of values, of which there is one at least.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
