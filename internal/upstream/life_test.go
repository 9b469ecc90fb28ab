package upstream_test

import (
	"fmt"
	"testing"

	"github.com/mooring-dev/mooring/test/mcpfake"
)

// Every transport and encoding: connect, list, call, probe, hear of changes, close.
func TestAWholeLife(t *testing.T) {
	eras := map[string]struct {
		era     mcpfake.Era
		version string
		session bool
	}{
		"legacy": {mcpfake.Legacy, "2025-11-25", true},
		"modern": {mcpfake.Modern, "2026-07-28", false},
		"dual":   {mcpfake.Dual, "2026-07-28", false},
		"oldsse": {mcpfake.OldSSE, "2024-11-05", true},
	}
	for name, era := range eras {
		for _, encoding := range []mcpfake.Encoding{mcpfake.JSON, mcpfake.SSE} {
			t.Run(fmt.Sprintf("%s/%d", name, encoding), func(t *testing.T) {
				s := mcpfake.New(t, mcpfake.WithEra(era.era), mcpfake.WithEncoding(encoding), mcpfake.WithPageSize(2))
				clean(t, s)
				c, watch := dial(t, config(t, s.URL()))
				if got := c.Info(); got.ProtocolVersion != era.version || got.HasSessionID != era.session ||
					got.Name != "mcpfake" || got.Title != "Fake" || got.Version != "1.0.0" {
					t.Errorf("info = %+v", got)
				}
				listing, err := c.List(t.Context())
				if err != nil || len(listing.Tools) != len(mcpfake.DefaultTools()) || listing.NoTools || listing.Loop {
					t.Fatalf("List = %+v, %v", listing, err)
				}
				answer, err := c.Call(t.Context(), call("echo", `{"n":12345678901234567890}`))
				if err != nil || answer.Error != nil || len(answer.Result) == 0 {
					t.Fatalf("Call = %+v, %v", answer, err)
				}
				if err := c.Probe(t.Context()); err != nil {
					t.Errorf("Probe: %v", err)
				}
				await(t, "sign of life", watch.alive)
				s.Await(t, func(st mcpfake.Stats) bool { return st.Streams == 1 })
				s.NotifyListChanged()
				await(t, "list_changed", watch.changed)
				shut(t, c)
				s.Await(t, func(st mcpfake.Stats) bool { return st.Conns == 0 && st.Sessions == 0 && st.Streams == 0 })
			})
		}
	}
}
