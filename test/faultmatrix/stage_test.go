//go:build unix

package faultmatrix

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mooring-dev/mooring/internal/egress"
	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/internal/secret"
	"github.com/mooring-dev/mooring/internal/session"
	"github.com/mooring-dev/mooring/internal/upstream"
	"github.com/mooring-dev/mooring/test/mcpfake"
	"github.com/mooring-dev/mooring/test/mcpfake/netfault"
	"github.com/mooring-dev/mooring/test/pace"
	"github.com/mooring-dev/mooring/test/sessiontest"
)

const (
	main    session.Key = "main"    // the server that the fault happens to
	healthy session.Key = "healthy" // one that it must not reach
)

const (
	// patience is how long what must happen may take on a busy machine.
	patience = 2 * pace.Patience
	// ample is a timeout that is not what the cell is about.
	ample = 10 * time.Minute
	// shortest and longest bound the timeout that a cell is about: see stage.brief, and play.
	shortest, longest = time.Second, time.Minute
	// cooldown is long enough to be told from the delays of a round on a slow machine, and is never waited for.
	cooldown = 10 * time.Minute
	// probeEvery makes a session idle for long.
	probeEvery = 200 * time.Millisecond
	// quiet is how long a stream that is not to be asked for again is watched: longer than the first delay.
	quiet = 1700 * time.Millisecond
)

// stage is where one cell plays: a supervisor with two servers.
type stage struct {
	t    *testing.T
	at   place
	f    fault
	want want

	ctx         context.Context // labelled
	fake, other *mcpfake.Server
	trap        *netfault.Trap
	host        string // the name of the server
	eras        map[*mcpfake.Server]*upstream.EraMemory
	egress      *egress.Policy
	sup         *session.Supervisor
	timeouts    session.Timeouts
	wakes       int
	// brief is a timeout that passes, long enough for the request to be sent and its answer to begin: many times what
	// the connect and the call to the healthy server took, so that it does not depend on how fast the machine is.
	brief time.Duration
	// least bounds it from below.
	least time.Duration

	bystanders []bystander

	// changed holds a word when something was told since it was last looked at.
	changed chan struct{}
	mu      sync.Mutex
	events  []session.Event
	tries   []failure.Failure   // that failed
	first   int                 // the number of the first request that met the fault; 0 for none
	hook    func(session.Event) // of the server that the fault happens to; nil for none
	strange []string            // what the healthy server should not have met
}

// bystander is a call in flight that the fault must not reach.
type bystander struct {
	name string
	done chan error
}

func (s *stage) must(err error) {
	if err != nil {
		s.t.Errorf("arranging %s: %v", s.at, err)
	}
}

// begin puts up the servers and the supervisor. discover: as in a manager.
func (s *stage) begin(discover bool) {
	options := append([]mcpfake.Option{mcpfake.WithEra(s.at.era.fake())}, s.f.options...)
	s.fake = mcpfake.New(s.t, options...)
	s.other = mcpfake.New(s.t, mcpfake.WithEra(s.at.era.fake()))
	s.trap = netfault.NewTrap(s.t)
	s.eras = map[*mcpfake.Server]*upstream.EraMemory{s.fake: {}, s.other: {}}
	s.changed = make(chan struct{}, 1)
	s.timeouts = session.Timeouts{Connect: ample, List: ample, Call: ample, CallMax: ample}
	policy, err := egress.NewPolicy(egress.Options{AllowLoopback: true})
	if err != nil {
		s.t.Fatal(err)
	}
	s.egress = policy.ForNamespace("agents")
	if s.f.named {
		s.host = fmt.Sprintf("cell-%p.matrix.invalid", s)
		names.learn(s.host)
	}
	s.sup = session.New(session.Options{
		Discover: discover, Notify: func(session.Key) { s.signal() }, Observe: s.observe,
		Rand: func() float64 { return 0 }, DrainTimeout: patience,
	})
}

func (s *stage) signal() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

func (s *stage) observe(e session.Event) {
	defer s.signal()
	s.mu.Lock()
	hook := s.hook
	s.mu.Unlock()
	if e.Key == main && hook != nil {
		hook(e) // before anybody can know of the event
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case e.Kind == session.EventPanicked:
		s.strange = append(s.strange, "panic: "+e.Stack)
	case e.Key == main:
		s.events = append(s.events, e)
	case e.Kind == session.EventFailed, e.Kind == session.EventRebuilt, e.Kind == session.EventClosed:
		s.strange = append(s.strange, fmt.Sprintf("the healthy server: %s %+v", e.Kind, e.Failure))
	}
}

// count is the number of events of some kinds.
func (s *stage) count(kinds ...session.EventKind) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.events {
		for _, kind := range kinds {
			if e.Kind == kind {
				n++
			}
		}
	}
	return n
}

// failed is the number of tries that failed, and what the last failed with.
func (s *stage) failed() (n int, last failure.Failure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n = len(s.tries); n > 0 {
		last = s.tries[n-1]
	}
	return n, last
}

// told is the last failure that was told of the server; where it told of none, that of the last try.
func (s *stage) told() failure.Failure {
	_, last := s.failed()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.events {
		if e.Kind == session.EventFailed {
			last = e.Failure
		}
	}
	return last
}

// tried notes a try that failed.
func (s *stage) tried(phase failure.Phase, err error) {
	if err == nil {
		return
	}
	s.mu.Lock()
	s.tries = append(s.tries, failure.ClassifyAt(phase, err))
	s.mu.Unlock()
	s.signal()
}

// forget drops what was observed until now.
func (s *stage) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events, s.tries = nil, nil
}

func (s *stage) setHook(hook func(session.Event)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hook = hook
}

// await waits for a condition on what the supervisor shows or the server saw.
func (s *stage) await(what string, cond func() bool) {
	s.t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-s.changed:
		case <-tick.C:
		case <-deadline.C:
			shot := s.shot()
			n, last := s.failed()
			s.t.Fatalf("no %s: state %s, fault %+v, list fault %+v, %d failed tries, the last %+v; the server saw %v",
				what, shot.State, shot.Fault, shot.ListFault, n, last, s.fake.Stats())
		}
	}
}

func (s *stage) shot() session.Snapshot {
	shot, _ := s.sup.Snapshot(main)
	return shot
}

// ensure tells the supervisor of the server, as its settings are now.
func (s *stage) ensure() {
	s.sup.Ensure(main, s.config(s.fake, s.host, s.timeouts))
}

// wake lets it be tried at once, as after a change of its declaration.
func (s *stage) wake() {
	s.wakes++
	s.ensure()
}

func (s *stage) config(fake *mcpfake.Server, host string, timeouts session.Timeouts) session.Config {
	url := fake.URL()
	if host != "" {
		_, port, _ := net.SplitHostPort(fake.HostPort())
		url = strings.Replace(url, fake.HostPort(), net.JoinHostPort(host, port), 1)
	}
	protocol := upstream.StreamableHTTP
	if s.at.era == oldSSE {
		protocol = upstream.SSE
	}
	dialer, err := upstream.NewDialer(upstream.Config{
		URL: secret.New(url), Protocol: protocol, CABundle: fake.CAPEM(), Timeouts: timeouts, Egress: s.egress,
		Era: s.eras[fake], UserAgent: "mooring/matrix",
	})
	if err != nil {
		s.t.Fatal(err)
	}
	config := sessiontest.Config(session.Config{
		Dialer: s.watched(fake, dialer), Connection: "one " + string(fake.CAPEM()), Catalog: "one",
		Wake: fmt.Sprint(s.wakes), Address: fake.HostPort(),
		Timeouts: timeouts, Recovery: session.Recovery{Cooldown: cooldown}, HealthInterval: time.Hour,
		Calls: session.Calls{MaxConcurrent: 16, Replay: func(string) bool { return s.at.phase == repeating }},
	})
	if s.at.phase == probing && fake == s.fake {
		config.HealthInterval = probeEvery
	}
	return config
}

// call calls a tool of a server over one of its sessions.
func (s *stage) call(ctx context.Context, key session.Key, over, tool string) error {
	answer, err := s.sup.Call(ctx, key, session.Caller{Name: over, Session: over}, session.Call{
		Method: "tools/call", Tool: tool, Params: json.RawMessage(`{"name":"` + tool + `","arguments":{}}`),
	})
	switch {
	case err != nil:
		return err
	case answer.Error != nil:
		return errAnswered
	case !strings.Contains(string(answer.Result), `"content"`):
		return fmt.Errorf("an answer without content: %.100s", answer.Result)
	}
	return nil
}

// errAnswered stands for a JSON-RPC error of the server.
var errAnswered = errors.New("answered with a JSON-RPC error")

// beside starts a call that stays in flight until the end of the cell.
func (s *stage) beside(name string, key session.Key, fake *mcpfake.Server, over string) {
	running := fake.Stats().InFlight
	b := bystander{name: name, done: make(chan error, 1)}
	s.bystanders = append(s.bystanders, b)
	go func() { b.done <- s.call(s.ctx, key, over, "slow") }()
	s.awaits(fake, func(st mcpfake.Stats) bool { return st.InFlight > running })
}

// awaits waits for a condition on what a server saw.
func (s *stage) awaits(fake *mcpfake.Server, cond func(mcpfake.Stats) bool) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	if err := fake.AwaitContext(ctx, cond); err != nil {
		s.t.Fatal(err)
	}
}

// settle waits for a session that is connected, listed and has its stream.
func (s *stage) settle() {
	s.t.Helper()
	s.await("connected session", func() bool {
		shot := s.shot()
		return shot.State == session.Connected && shot.Listing != nil && shot.ListFault == nil
	})
}

// opened reports whether the breaker is open: what a round waits for is much shorter than a cooldown.
func opened(shot session.Snapshot) bool {
	return shot.State == session.Quarantined || shot.State == session.Retired ||
		shot.State == session.Waiting && time.Until(shot.NextAttempt) > cooldown/3
}

func fateOf(shot session.Snapshot) fate {
	switch {
	case shot.Retirement == session.Refused:
		return refused
	case shot.State == session.Quarantined:
		return quarantined
	case opened(shot):
		return putOff
	}
	return reopened
}

// targets are the requests that the fault meets.
func (s *stage) targets() []mcpfake.Phase {
	if s.f.where != nil {
		if phases := s.f.where(s.at); phases != nil {
			return phases
		}
	}
	if s.f.leaves {
		return []mcpfake.Phase{mcpfake.Cancelled}
	}
	switch s.at.phase {
	case connecting:
		switch s.at.era {
		case modern:
			return []mcpfake.Phase{mcpfake.Discover, mcpfake.Initialize}
		case oldSSE:
			return []mcpfake.Phase{mcpfake.Stream}
		case legacy:
		}
		return []mcpfake.Phase{mcpfake.Initialize}
	case listing, refreshing:
		return []mcpfake.Phase{mcpfake.List}
	case streaming:
		return []mcpfake.Phase{mcpfake.Stream}
	case probing:
		return []mcpfake.Phase{s.proof()}
	case calling, repeating:
	}
	return []mcpfake.Phase{mcpfake.Call}
}

// proof is the request by which a session's health is probed.
func (s *stage) proof() mcpfake.Phase {
	switch {
	case s.at.era == modern:
		return mcpfake.Discover
	case s.fake.OpenSessions() == 0: // a server that gives no session ids
		return mcpfake.List
	}
	return mcpfake.Ping
}

// arm lets the fault happen from now on.
func (s *stage) arm() {
	if s.f.down != nil {
		s.f.down(s)
		s.since()
		return
	}
	if s.f.meets != nil {
		s.replace(s.f.meets)
	}
	if s.f.also != nil {
		s.f.also(s)
	}
}

// since lets every request from now on count as one that met the fault.
func (s *stage) since() {
	seen := s.fake.Stats().Requests
	s.mu.Lock()
	defer s.mu.Unlock()
	s.first = seen + 1
}

// replace lets the requests of the phase meet a fault.
func (s *stage) replace(f mcpfake.Fault) {
	times := mcpfake.Forever
	if s.f.once {
		times = 1
	}
	filters := s.f.filters
	if calls := s.at.phase == calling || s.at.phase == repeating; calls && !s.f.leaves {
		filters = append([]mcpfake.Filter{mcpfake.OnTool("echo")}, filters...)
	}
	for _, phase := range s.targets() {
		s.fake.Fault(phase, times, s.counted(f), filters...)
	}
}

// counted notes the first request that a fault meets.
func (s *stage) counted(f mcpfake.Fault) mcpfake.Fault {
	return func(x *mcpfake.Exchange) bool {
		s.mu.Lock()
		if s.first == 0 {
			s.first = x.Request.Seq
		}
		s.mu.Unlock()
		s.signal()
		return f(x)
	}
}

// disarm ends the fault.
func (s *stage) disarm() {
	s.fake.ClearFaults()
	s.must(s.fake.Restore())
	if s.f.named {
		names.learn(s.host)
	}
}

// hits are the requests of the fault's kind, from the first that met it on.
func (s *stage) hits() (hits []mcpfake.Request) {
	s.mu.Lock()
	first := s.first
	s.mu.Unlock()
	if first == 0 {
		return nil
	}
	targets := s.targets()
	for _, q := range s.fake.Requests("") {
		inCall := q.Phase == mcpfake.Call && q.Tool != "echo"
		if slices.Contains(targets, q.Phase) && q.Seq >= first && !inCall {
			hits = append(hits, q)
		}
	}
	return hits
}

// paced demands that no request came earlier than the server asked for.
func (s *stage) paced(hits []mcpfake.Request) {
	for i := 1; i < len(hits); i++ {
		if gap := hits[i].Time.Sub(hits[i-1].Time); gap < s.f.told {
			s.t.Errorf("request %d came %v after the one before, which was answered with a wait of %v", i+1, gap, s.f.told)
		}
	}
}
