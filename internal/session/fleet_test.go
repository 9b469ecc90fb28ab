package session_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/internal/session"
	"github.com/mooring-dev/mooring/test/sessiontest"
)

// key names the i-th server of a fleet.
func key(i int) session.Key { return session.Key(fmt.Sprint("server-", i)) }

// fleet ensures n servers and waits until they are connected.
func (r *rig) fleet(n int) []*sessiontest.Server {
	servers := make([]*sessiontest.Server, n)
	for i := range servers {
		servers[i] = sessiontest.NewServer(sessiontest.Script{})
		cfg := config(servers[i])
		cfg.Address = fmt.Sprint("host-", i)
		r.Ensure(key(i), cfg)
	}
	synctest.Wait()
	return servers
}

func TestSuspicionGuard(t *testing.T) {
	// die lets the first n servers of a fleet of 20 die within 10 s, and returns how many strikes there are 10 s later.
	die := func(t *testing.T, r *rig, n int, err error) (strikes int) {
		for i, server := range r.fleet(20) {
			if i >= n {
				break
			}
			server.Script(dialing(err))
			server.Newest().Observer.Lost(err)
			r.after(10 * time.Second / time.Duration(n))
		}
		r.after(10 * time.Second)
		for i := range 20 {
			snapshot := r.snapshot(key(i))
			strikes += snapshot.Strikes
			if want := i >= n; (snapshot.State == session.Connected) != want {
				t.Fatalf("%s is %s", key(i), snapshot.State)
			}
		}
		return strikes
	}
	t.Run("12 of 20 by transport", func(t *testing.T) {
		bubble(t, manager(), func(t *testing.T, r *rig) { equal(t, "strikes", die(t, r, 12, refused), 0) })
	})
	t.Run("10 of 20 by transport", func(t *testing.T) {
		bubble(t, manager(), func(t *testing.T, r *rig) { equal(t, "strikes", die(t, r, 10, refused), 10) })
	})
	t.Run("12 of 20 by 500", func(t *testing.T) {
		bubble(t, manager(), func(t *testing.T, r *rig) { equal(t, "strikes", die(t, r, 12, status(500)), 12) })
	})
}

// Where most of a fleet fails in the same instant, the first one is pardoned too, whichever goroutine notices it.
func TestSuspicionOfSimultaneousFailures(t *testing.T) {
	for range 20 {
		bubble(t, manager(), func(t *testing.T, r *rig) {
			for i := range 40 {
				cfg := config(sessiontest.NewServer(sessiontest.Script{
					Dial: func(context.Context, int) error {
						<-time.After(time.Second)
						return refused
					},
				}))
				cfg.Address = fmt.Sprint("host-", i)
				cfg.Recovery.Attempts, cfg.Recovery.Strikes = 1, 1
				r.Ensure(key(i), cfg)
			}
			r.after(time.Second)
			for i := range 40 {
				equal(t, "strikes", r.is(key(i), session.Waiting).Strikes, 0)
			}
			if n := r.count(session.EventRetired); n > 20 {
				t.Fatalf("%d are told to be retired after it was noticed", n)
			}
		})
	}
}

// 100 servers of one host were quarantined when the manager ended; all fail still.
func TestRestoredQuarantinesDoNotComeBackTogether(t *testing.T) {
	bubble(t, manager(), func(t *testing.T, r *rig) {
		var mu sync.Mutex
		perSecond := map[int]int{}
		server := sessiontest.NewServer(sessiontest.Script{Dial: func(context.Context, int) error {
			mu.Lock()
			perSecond[int(time.Since(r.start)/time.Second)]++
			mu.Unlock()
			return status(500)
		}})
		for i := range 100 {
			cfg := config(server)
			cfg.Restore = session.Restored{
				Strikes: 1, QuarantinedUntil: r.start.Add(20 * time.Second),
				Failure: session.Fault{Failure: failure.Failure{Class: failure.Server, Reason: failure.ServerError}},
			}
			r.Ensure(key(i), cfg)
		}
		r.after(19 * time.Second)
		equal(t, "early probes", server.Counts().Dials, 0)
		r.after(10 * time.Minute)
		for second, probes := range perSecond {
			if probes > 15 {
				t.Errorf("%d probes in second %d, want at most 15", probes, second)
			}
		}
		if n := server.Counts().Dials; n < 200 {
			t.Fatalf("%d probes", n)
		}
	})
}

func TestStrikesSurviveARestart(t *testing.T) {
	bubble(t, manager(), func(t *testing.T, r *rig) {
		server := sessiontest.NewServer(dialing(refused))
		cfg := config(server)
		since := r.start.Add(-time.Minute)
		cfg.Restore = session.Restored{
			Strikes: 1, QuarantinedUntil: r.start.Add(25 * time.Second),
			Failure: session.Fault{
				Failure: failure.Failure{
					Class: failure.Transport, Reason: failure.ConnectFailed, Phase: failure.Connect,
				},
				Since: since,
			},
		}
		r.Ensure("a", cfg)
		snapshot := r.is("a", session.Quarantined)
		equal(t, "settled", snapshot.Settled, true)
		equal(t, "strikes", snapshot.Strikes, 1)
		equal(t, "since", snapshot.Fault.Since, since)
		equal(t, "notified by restoring", r.notices("a"), 0)
		r.after(24 * time.Second)
		equal(t, "early probes", server.Counts().Dials, 0)
		r.after(14 * time.Second)
		snapshot = r.is("a", session.Quarantined)
		equal(t, "probes", server.Counts().Dials, 1)
		equal(t, "strikes", snapshot.Strikes, 2)
		equal(t, "since", snapshot.Fault.Since, since)
		r.after(72 * time.Second)
		equal(t, "kind", r.is("a", session.Retired).Retirement, session.Exhausted)
	})
}

func TestRetirementSurvivesARestart(t *testing.T) {
	for _, kind := range []session.Retirement{session.Refused, session.Exhausted} {
		bubble(t, manager(), func(t *testing.T, r *rig) {
			server := sessiontest.NewServer(sessiontest.Script{})
			cfg := config(server)
			cfg.Restore = session.Restored{Strikes: 3, RetiredAt: r.start.Add(-time.Hour), Retirement: kind}
			r.Ensure("a", cfg)
			snapshot := r.is("a", session.Retired)
			equal(t, "restored", snapshot.Restored, true)
			equal(t, "kind", snapshot.Retirement, kind)
			equal(t, "retired at", snapshot.RetiredAt, r.start.Add(-time.Hour))
			wait := map[session.Retirement]time.Duration{
				session.Refused: 30 * time.Minute, session.Exhausted: 4 * time.Minute,
			}[kind]
			r.after(wait - time.Second)
			equal(t, "early probes", server.Counts().Dials, 0)
			r.after(wait/4 + time.Second)
			r.is("a", session.Connected)
			cfg.Restore.Strikes = 2 // read once: later it changes nothing
			r.Ensure("a", cfg)
			equal(t, "strikes", r.is("a", session.Connected).Strikes, 0)
			equal(t, "still only restored", r.snapshot("a").Restored, false)
		})
	}
}

// startUp ensures 400 servers at so many addresses, each of which takes a second to connect, and returns how many
// connects there were at once, in all and to one address.
func (r *rig) startUp(addresses int) (total, perAddress int) {
	var mu sync.Mutex
	now, host := 0, map[string]int{}
	dial := func(address string) func(context.Context, int) error {
		return func(context.Context, int) error {
			mu.Lock()
			now++
			host[address]++
			total, perAddress = max(total, now), max(perAddress, host[address])
			mu.Unlock()
			<-time.After(time.Second)
			mu.Lock()
			now--
			host[address]--
			mu.Unlock()
			return nil
		}
	}
	for i := range 400 {
		address := fmt.Sprint("host-", i%addresses)
		cfg := config(sessiontest.NewServer(sessiontest.Script{Dial: dial(address)}))
		cfg.Address = address
		r.Ensure(key(i), cfg)
	}
	r.after(1500 * time.Millisecond)
	urgent := config(sessiontest.NewServer(sessiontest.Script{}))
	urgent.Urgent = true
	r.Ensure("urgent", urgent)
	r.after(600 * time.Millisecond)
	r.is("urgent", session.Connected)
	r.after(time.Minute)
	for i := range 400 {
		r.is(key(i), session.Connected)
	}
	return total, perAddress
}

func TestStartUpIsBounded(t *testing.T) {
	bubble(t, manager(), func(t *testing.T, r *rig) {
		total, perAddress := r.startUp(400)
		equal(t, "connects at once", total, 64)
		equal(t, "to one address", perAddress, 1)
	})
	bubble(t, manager(), func(t *testing.T, r *rig) {
		total, perAddress := r.startUp(10)
		equal(t, "connects at once", total, 40)
		equal(t, "to one address", perAddress, 4)
	})
}

// Four servers that hang delay another behind their host and port by two seconds, not by their whole time to connect.
func TestHungConnectsDelayOthersByTwoSeconds(t *testing.T) {
	bubble(t, manager(), func(_ *testing.T, r *rig) {
		hung := sessiontest.NewServer(sessiontest.Script{
			Dial: func(ctx context.Context, _ int) error { return hang(ctx) },
		})
		for i := range 4 {
			r.Ensure(key(i), config(hung))
		}
		synctest.Wait()
		r.Ensure("good", config(sessiontest.NewServer(sessiontest.Script{})))
		r.after(1999 * time.Millisecond)
		r.is("good", session.Connecting)
		r.after(time.Millisecond)
		r.is("good", session.Connected)
	})
}

// Eight servers whose lists hang delay the lists of the others by a second, not by a minute.
func TestHungListsDelayOthersByASecond(t *testing.T) {
	bubble(t, manager(), func(t *testing.T, r *rig) {
		for i := range 8 {
			r.Ensure(key(i), config(sessiontest.NewServer(sessiontest.Script{
				List: func(ctx context.Context, _ int) (*session.Listing, error) { return nil, hang(ctx) },
			})))
		}
		synctest.Wait()
		r.Ensure("good", config(sessiontest.NewServer(sessiontest.Script{})))
		synctest.Wait()
		equal(t, "listing", r.snapshot("good").Listing, nil)
		r.after(time.Second)
		equal(t, "tools", len(r.is("good", session.Connected).Listing.Tools), 1)
	})
}

func TestShutdownAnswersEveryWaiter(t *testing.T) {
	options := gateway()
	options.DrainTimeout = -1
	bubble(t, options, func(t *testing.T, r *rig) {
		deaf := make(chan struct{}) // this server's connections hear nobody until it is closed
		defer close(deaf)
		server := sessiontest.NewServer(sessiontest.Script{
			Call: func(context.Context, int, session.Call) (session.Answer, error) {
				<-deaf
				return session.Answer{}, reset
			},
			Close: func(context.Context, int) error { <-deaf; return nil },
		})
		slow := sessiontest.NewServer(sessiontest.Script{Dial: func(ctx context.Context, _ int) error { return hang(ctx) }})
		broken := sessiontest.NewServer(dialing(refused))
		r.Ensure("a", config(server))
		r.Ensure("dialling", config(slow))
		r.Ensure("between tries", config(broken))
		var all []<-chan outcome
		for range 10 { // four in flight, six waiting
			all = append(all, r.background(t.Context(), "a", me, tool("x")))
		}
		all = append(all,
			r.background(t.Context(), "dialling", me, tool("x")),
			r.background(t.Context(), "between tries", me, tool("x")))
		r.after(100 * time.Millisecond)
		started := time.Now()
		stopped := make(chan struct{})
		go func() {
			r.stop()
			close(stopped)
		}()
		inFlight := 0
		for _, done := range all {
			got := <-done
			if errors.As(got.err, new(*failure.Error)) {
				fails(t, got.err, failure.ConnectionLost, failure.OutcomeUnknown)
				inFlight++
			} else {
				refuses(t, got.err, session.Unavailable)
			}
		}
		equal(t, "calls that were in flight", inFlight, 4)
		equal(t, "answered after", time.Since(started), 0)
		<-stopped
		equal(t, "closed after", time.Since(started), 10*time.Second)
		_, err := r.call()
		refuses(t, err, session.Unavailable)
		r.Ensure("late", config(server))
		if _, known := r.Snapshot("late"); known {
			t.Fatal("something is ensured after the end")
		}
	})
}

func TestShutdownDrains(t *testing.T) {
	bubble(t, gateway(), func(t *testing.T, r *rig) {
		server := sessiontest.NewServer(sessiontest.Script{
			Call: func(ctx context.Context, n int, call session.Call) (session.Answer, error) {
				select {
				case <-time.After(30 * time.Second):
					return calling().Call(ctx, n, call)
				case <-ctx.Done():
					return session.Answer{}, ctx.Err()
				}
			},
		})
		r.Ensure("a", config(server))
		done := r.background(t.Context(), "a", me, tool("x"))
		synctest.Wait()
		r.stop()
		got := <-done
		answers(t, got.answer, got.err)
		equal(t, "drained for", time.Since(r.start), 30*time.Second)
		equal(t, "open", server.Counts().Open, 0)
	})
}

func TestReplacementDrains(t *testing.T) {
	for _, takes := range []time.Duration{30 * time.Second, 14 * time.Minute} {
		bubble(t, gateway(), func(t *testing.T, r *rig) {
			old := sessiontest.NewServer(sessiontest.Script{
				Call: func(ctx context.Context, n int, call session.Call) (session.Answer, error) {
					select {
					case <-time.After(takes):
						return calling().Call(ctx, n, call)
					case <-ctx.Done():
						return session.Answer{}, ctx.Err()
					}
				},
			})
			cfg := config(old)
			cfg.Timeouts.Call = 15 * time.Minute
			r.Ensure("a", cfg)
			var slow []<-chan outcome
			for i := range 3 { // a strike, if they counted
				from := session.Caller{Name: "me", Session: fmt.Sprint(i)}
				slow = append(slow, r.background(t.Context(), "a", from, tool("x")))
			}
			synctest.Wait()
			fresh := sessiontest.NewServer(calling())
			cfg.Dialer, cfg.Connection = fresh, "c2"
			r.Ensure("a", cfg)
			for i := range 3 {
				from := session.Caller{Name: "me", Session: fmt.Sprint(i)}
				answer, err := r.Call(t.Context(), "a", from, tool("x"))
				answers(t, answer, err)
			}
			equal(t, "new calls on the old sessions", old.Counts().Calls, 3)
			for _, done := range slow {
				got := <-done
				if takes <= time.Minute {
					answers(t, got.answer, got.err)
					continue
				}
				fails(t, got.err, failure.ConnectionLost, failure.OutcomeUnknown)
				equal(t, "drained for", got.took, time.Minute)
			}
			synctest.Wait()
			equal(t, "old sessions", old.Counts().Open, 0)
			equal(t, "strikes", r.is("a", session.Connected).Strikes, 0)
		})
	}
}

func TestReplacementInTheMiddleOfACallsDial(t *testing.T) {
	bubble(t, gateway(), func(t *testing.T, r *rig) {
		old := sessiontest.NewServer(sessiontest.Script{Dial: func(ctx context.Context, _ int) error { return hang(ctx) }})
		r.Ensure("a", config(old))
		done := r.background(t.Context(), "a", me, tool("x"))
		synctest.Wait()
		cfg := config(sessiontest.NewServer(calling()))
		cfg.Connection = "c2"
		r.Ensure("a", cfg)
		got := <-done
		answers(t, got.answer, got.err)
		equal(t, "waited", got.took, 0)
		equal(t, "failures", r.count(session.EventFailed), 0)
	})
}

func TestForgetRefusesWhatWaits(t *testing.T) {
	bubble(t, gateway(), func(t *testing.T, r *rig) {
		r.Ensure("a", config(sessiontest.NewServer(sessiontest.Script{
			Dial: func(ctx context.Context, _ int) error { return hang(ctx) },
		})))
		done := r.background(t.Context(), "a", me, tool("x"))
		synctest.Wait()
		r.Forget("a")
		r.Forget("a")
		refuses(t, (<-done).err, session.Unavailable)
		_, err := r.call()
		refuses(t, err, session.Unavailable)
	})
}

func TestRunIsCalledOnce(t *testing.T) {
	bubble(t, manager(), func(t *testing.T, r *rig) {
		if err := r.Run(t.Context()); err == nil {
			t.Fatal("a second Run")
		}
	})
}

func TestSessionsThatDoNotEndAreReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		deaf := make(chan struct{})
		server := sessiontest.NewServer(sessiontest.Script{Dial: func(context.Context, int) error { <-deaf; return refused }})
		options := manager()
		options.DrainTimeout = -1
		var told atomic.Int32
		options.Observe = func(event session.Event) {
			if event.Kind == session.EventCloseTimedOut {
				told.Add(1)
			}
		}
		s := session.New(options)
		s.Ensure("a", config(server))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx) }()
		synctest.Wait()
		started := time.Now()
		cancel()
		if err := <-done; err == nil {
			t.Fatal("a session that does not end is not reported")
		}
		equal(t, "took", time.Since(started), 11*time.Second)
		equal(t, "told", told.Load(), 1)
		close(deaf)
	})
}

// Nothing that is printed of any type holds what a Dialer or an error knows.
func TestCanariesAreNotPrinted(t *testing.T) {
	bubble(t, manager(), func(t *testing.T, r *rig) {
		server := sessiontest.NewServer(sessiontest.Script{
			Dial: func(context.Context, int) error { return fmt.Errorf("Bearer CANARY: %w", refused) },
		})
		r.Ensure("a", config(server))
		_, err := r.call()
		printed := fmt.Sprintf("%v %+v %v %+v", err, err, r.snapshot("a"), *r.snapshot("a").Fault)
		r.mu.Lock()
		printed += fmt.Sprintf("%+v", r.events)
		r.mu.Unlock()
		if strings.Contains(printed, "CANARY") {
			t.Fatalf("printed: %s", printed)
		}
	})
}

// fickle is a script that changes every few seconds from one fault to another.
func fickle(seed uint64) sessiontest.Script {
	var mu sync.Mutex
	source := rand.New(rand.NewPCG(seed, seed))
	fate := func(ctx context.Context) error {
		mu.Lock()
		n := source.IntN(12)
		mu.Unlock()
		switch n {
		case 0:
			return refused
		case 1:
			return reset
		case 2:
			return status(500)
		case 3:
			return told(429, "1")
		case 4:
			return lost()
		case 5:
			return status(401)
		case 6:
			return failing(failure.Failure{Class: failure.Protocol, Reason: failure.NotMCP})
		case 7:
			return hang(ctx)
		case 8:
			panic("fickle")
		case 9:
			return errors.New("odd")
		}
		return nil
	}
	return sessiontest.Script{
		Dial: func(ctx context.Context, _ int) error { return fate(ctx) },
		List: func(ctx context.Context, _ int) (*session.Listing, error) { return sessiontest.Tools("x"), fate(ctx) },
		Call: func(ctx context.Context, n int, call session.Call) (session.Answer, error) {
			if err := fate(ctx); err != nil {
				return session.Answer{}, err
			}
			return calling().Call(ctx, n, call)
		},
		Probe: func(ctx context.Context, _ int) error { return fate(ctx) },
		Close: func(ctx context.Context, n int) error {
			if n%7 == 0 {
				return hang(ctx)
			}
			return nil
		},
	}
}

// A minute with 200 servers, 40 of them broken in changing ways, read, edited, called and refreshed all the while.
// The healthy ones must not notice.
func TestTwoHundredServersForAMinute(t *testing.T) {
	bubble(t, manager(), func(t *testing.T, r *rig) {
		healthy := r.fleet(160)
		for i := range healthy {
			r.notices(key(i))
		}
		cfgs := map[session.Key]session.Config{}
		for i := 160; i < 200; i++ {
			cfg := config(sessiontest.NewServer(fickle(uint64(i))))
			cfg.Address, cfg.HealthInterval, cfg.RefreshInterval = fmt.Sprint("host-", i), 2*time.Second, 3*time.Second
			cfg.Recovery.Cooldown, cfg.Recovery.ProbeInterval = time.Second, 2*time.Second
			cfg.Timeouts = session.Timeouts{Connect: 2 * time.Second, List: time.Second, Call: time.Second}
			cfgs[key(i)] = cfg
			r.Ensure(key(i), cfg)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var work sync.WaitGroup
		for worker := range 8 {
			work.Go(func() { r.disturb(ctx, uint64(worker), cfgs) })
		}
		work.Go(func() {
			for ctx.Err() == nil {
				for i := range healthy {
					if snapshot, _ := r.Snapshot(key(i)); snapshot.State != session.Connected || snapshot.Fault != nil {
						t.Errorf("%s is %s", key(i), snapshot.State)
						return
					}
				}
				<-time.After(50 * time.Millisecond)
			}
		})
		work.Wait()
		for i, server := range healthy {
			counts := server.Counts()
			if counts.Dials != 1 || r.notices(key(i)) != 0 {
				t.Errorf("%s was disturbed: %+v", key(i), counts)
			}
		}
		r.stop()
		for i, server := range healthy {
			if open := server.Counts().Open; open != 0 {
				t.Errorf("%s has %d connections open", key(i), open)
			}
		}
		for key, cfg := range cfgs {
			if counts := cfg.Dialer.(*sessiontest.Server).Counts(); counts.Open != 0 {
				t.Errorf("%s has %d connections open", key, counts.Open)
			}
		}
	})
	goleak.VerifyNone(t)
}

// disturb does at random what others do to the broken servers, and calls healthy ones.
func (r *rig) disturb(ctx context.Context, seed uint64, cfgs map[session.Key]session.Config) {
	source := rand.New(rand.NewPCG(seed, seed))
	for ctx.Err() == nil {
		key := key(160 + source.IntN(40))
		cfg := cfgs[key]
		from := session.Caller{Name: fmt.Sprint(seed), Session: fmt.Sprint(source.IntN(3))}
		switch source.IntN(10) {
		case 0:
			cfg.Wake = fmt.Sprint(source.IntN(5))
			r.Ensure(key, cfg)
		case 1:
			cfg.Connection = fmt.Sprint(source.IntN(3))
			r.Ensure(key, cfg)
		case 2:
			r.Forget(key)
			r.Ensure(key, cfg)
		case 3:
			r.Refresh(key)
		case 4:
			if conn := cfg.Dialer.(*sessiontest.Server).Newest(); conn != nil {
				conn.Observer.Lost(reset)
			}
		case 5:
			if conn := cfg.Dialer.(*sessiontest.Server).Newest(); conn != nil {
				conn.Observer.ListChanged()
				conn.Observer.Alive()
			}
		case 6, 7, 8:
			_, _ = r.Call(ctx, key, from, tool("x"))
		default:
			r.Snapshot(key)
		}
		<-time.After(time.Duration(source.IntN(40)) * time.Millisecond)
	}
}
