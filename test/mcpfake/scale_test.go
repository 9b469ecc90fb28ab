package mcpfake_test

import (
	"runtime"
	"sync"
	"testing"

	"github.com/mooring-dev/mooring/test/mcpfake"
)

// 200 servers live in one process, are used at once, and are told apart.
func TestTwoHundredServers(t *testing.T) {
	const n = 200
	servers := make([]*mcpfake.Server, n)
	before := heap()
	for i := range servers {
		servers[i] = mcpfake.New(t)
	}
	per := (heap() - before) / n
	t.Logf("%d bytes of heap per idle server", per)
	if per > 16<<10 {
		t.Errorf("%d bytes of heap per idle server, want at most 16 KiB", per)
	}
	var wg sync.WaitGroup
	for _, srv := range servers {
		client := newWire(t, srv)
		wg.Go(func() {
			client.initialize()
			if got := client.post(echoBody); got.body != echoText {
				t.Errorf("got %+v", got)
			}
		})
	}
	wg.Wait()
	for i, srv := range servers {
		if st := srv.Stats(); st.Requests != 3 || st.Executions("echo") != 1 || st.Sessions != 1 {
			t.Errorf("server %d: %v", i, st)
		}
	}
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// The record is bounded, the counts are not.
func TestRecordLimit(t *testing.T) {
	srv := mcpfake.New(t, mcpfake.WithRecordLimit(4), mcpfake.WithoutSessions())
	client := newWire(t, srv).initialize()
	for range 10 {
		client.post(listBody)
	}
	kept := srv.Requests("")
	if len(kept) != 4 || kept[0].Seq != 9 || kept[3].Seq != 12 {
		t.Errorf("kept %d, first %d", len(kept), kept[0].Seq)
	}
	if n := srv.Count("tools/list"); n != 10 {
		t.Errorf("counted %d, want 10", n)
	}
}
