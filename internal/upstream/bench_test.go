package upstream_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/mooring-dev/mooring/internal/egress"
	"github.com/mooring-dev/mooring/internal/secret"
	"github.com/mooring-dev/mooring/internal/session"
	"github.com/mooring-dev/mooring/internal/upstream"
)

// BenchmarkCall is one call of a legacy session; the handler does nothing but answer.
func BenchmarkCall(b *testing.B) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		body, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(body, &m)
		result := `{"content":[{"type":"text","text":"ok"}]}`
		switch m.Method {
		case "initialize":
			result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}}}`
		case "tools/call":
		case "notifications/initialized":
			w.WriteHeader(http.StatusAccepted)
			return
		default:
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":`+result+`}`)
	}))
	defer web.Close()
	policy, err := egress.NewPolicy(egress.Options{AllowLoopback: true})
	if err != nil {
		b.Fatal(err)
	}
	d, err := upstream.NewDialer(upstream.Config{URL: secret.New(web.URL), Egress: policy,
		Timeouts: session.Timeouts{Connect: patience, List: patience}})
	if err != nil {
		b.Fatal(err)
	}
	c, err := d.Dial(b.Context(), newObserver())
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Call(b.Context(), call("x", `{}`)); err != nil {
			b.Fatal(err)
		}
	}
	_ = c.Close(b.Context())
}
