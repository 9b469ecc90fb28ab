package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// sample is what one measurement of a target found.
type sample struct {
	throughput float64 // calls a second
	p50, p99   float64 // ms
	cpu        float64 // µs of the target's process a call; 0 where it has none
	mallocs    float64 // of the target's process a call; likewise
	rss        float64 // MiB of the target's process; likewise
	upstream   float64 // HTTP requests to the upstream server a call
	failed     float64 // calls that failed, or were answered with a failure
}

func medians(of []sample) (out sample) {
	pick := func(value func(*sample) *float64) {
		var all []float64
		for i := range of {
			all = append(all, *value(&of[i]))
		}
		*value(&out) = median(all)
	}
	for _, value := range []func(*sample) *float64{
		func(s *sample) *float64 { return &s.throughput }, func(s *sample) *float64 { return &s.p50 },
		func(s *sample) *float64 { return &s.p99 }, func(s *sample) *float64 { return &s.cpu },
		func(s *sample) *float64 { return &s.mallocs }, func(s *sample) *float64 { return &s.rss },
		func(s *sample) *float64 { return &s.upstream }, func(s *sample) *float64 { return &s.failed },
	} {
		pick(value)
	}
	return out
}

// measure has a number of agents call a target for a while, each one call after the other.
func (w *world) measure(ctx context.Context, t *target, era string, sessions int) (s sample, err error) {
	agents := make([]*agent, sessions)
	for i := range agents {
		agents[i] = newAgent(t, era)
		defer agents[i].close()
		if err := agents[i].begin(ctx); err != nil {
			return s, err
		}
	}
	before, err := w.usage(ctx, t)
	if err != nil {
		return s, err
	}
	began := time.Now()
	latencies, failed, lastErr := load(ctx, agents, began.Add(w.window))
	took := time.Since(began)
	after, err := w.usage(ctx, t)
	if err != nil {
		return s, err
	}
	calls := float64(len(latencies))
	if calls == 0 {
		return s, fmt.Errorf("no call succeeded: %w", lastErr)
	}
	slices.Sort(latencies)
	at := func(share float64) float64 {
		return float64(latencies[int(share*(calls-1))].Microseconds()) / 1000
	}
	return sample{
		throughput: calls / took.Seconds(), p50: at(0.5), p99: at(0.99), rss: after.rss, failed: float64(failed),
		cpu: float64((after.cpu - before.cpu).Microseconds()) / calls, mallocs: (after.mallocs - before.mallocs) / calls,
		upstream: (after.upstream - before.upstream) / calls,
	}, ctx.Err()
}

// load has the agents call until a time, and returns how long each call took that succeeded.
func load(ctx context.Context, agents []*agent, until time.Time) (all []time.Duration, failed int, last error) {
	var (
		mu      sync.Mutex
		running sync.WaitGroup
	)
	for _, a := range agents {
		running.Go(func() {
			var (
				mine []time.Duration
				bad  int
				err  error
			)
			for ctx.Err() == nil && time.Now().Before(until) {
				began := time.Now()
				if e := a.call(ctx); e != nil {
					bad, err = bad+1, e
					continue
				}
				mine = append(mine, time.Since(began))
			}
			mu.Lock()
			defer mu.Unlock()
			all, failed = append(all, mine...), failed+bad
			if err != nil {
				last = err
			}
		})
	}
	running.Wait()
	return all, failed, last
}

// used is what a target's process has used so far.
type used struct {
	cpu          time.Duration
	mallocs, rss float64
	upstream     float64 // requests that the upstream server was sent
}

func (w *world) usage(ctx context.Context, t *target) (u used, err error) {
	s, err := statsOf(ctx, w.upstream)
	if err != nil {
		return u, err
	}
	u.upstream = float64(s.Requests)
	if t.pid == 0 {
		return u, nil
	}
	if u.mallocs, err = t.mallocs(ctx); err != nil {
		return u, err
	}
	if u.cpu, err = cpuOf(t.pid); err != nil {
		return u, err
	}
	u.rss, err = rssOf(t.pid)
	return u, err
}

// cpuOf is the processor time of a process (proc(5), fields utime and stime, in hundredths of a second).
func cpuOf(pid int) (time.Duration, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+1:]))
	user, err1 := strconv.ParseInt(fields[11], 10, 64)
	system, err2 := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * 10 * time.Millisecond, errors.Join(err1, err2)
}

// rssOf is the resident memory of a process in MiB.
func rssOf(pid int) (float64, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(raw)) {
		if rest, found := strings.CutPrefix(line, "VmRSS:"); found {
			kib, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			return kib / 1024, err
		}
	}
	return 0, fmt.Errorf("no VmRSS of process %d", pid)
}
