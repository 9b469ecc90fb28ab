package upstream_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mooring-dev/mooring/internal/catalog"
	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/internal/session"
	"github.com/mooring-dev/mooring/internal/upstream"
	"github.com/mooring-dev/mooring/test/mcpfake"
)

func manyTools(n int) []mcpfake.Tool {
	tools := make([]mcpfake.Tool, n)
	for i := range tools {
		tools[i] = mcpfake.NewTool(fmt.Sprintf("tool_%03d", i), nil)
	}
	return tools
}

func bothEras(t *testing.T, test func(t *testing.T, era mcpfake.Era)) {
	t.Run("legacy", func(t *testing.T) { test(t, mcpfake.Legacy) })
	t.Run("modern", func(t *testing.T) { test(t, mcpfake.Modern) })
}

func TestB25_AllPagesAreRead(t *testing.T) {
	bothEras(t, func(t *testing.T, era mcpfake.Era) {
		s := mcpfake.New(t, mcpfake.WithEra(era), mcpfake.WithTools(manyTools(101)...), mcpfake.WithPageSize(50))
		c, _ := dial(t, config(t, s.URL()))
		listing, err := c.List(t.Context())
		if err != nil || len(listing.Tools) != 101 || s.Count("tools/list") != 3 {
			t.Fatalf("%d tools in %d requests, %v", len(listing.Tools), s.Count("tools/list"), err)
		}
		s.Fault(mcpfake.List, 1, mcpfake.Status(500, nil, ""), mcpfake.Skip(1))
		listing, err = c.List(t.Context())
		if listing != nil {
			t.Errorf("a part of a list was given: %d tools", len(listing.Tools))
		}
		want{failure.Server, failure.ServerError, 500, true, ""}.check(t, failureOf(t, err))
	})
}

func TestB24_CursorsThatNeverEnd(t *testing.T) {
	bothEras(t, func(t *testing.T, era mcpfake.Era) {
		cases := map[mcpfake.Cursor]struct {
			size, tools, requests int
			loop                  bool
		}{
			mcpfake.Empty: {0, 8, 1, false}, mcpfake.Null: {0, 8, 1, false}, mcpfake.Honest: {3, 8, 3, false},
			mcpfake.Loop: {0, 8, 2, true},
		}
		for cursor, tc := range cases {
			s := mcpfake.New(t, mcpfake.WithEra(era), mcpfake.WithTools(manyTools(8)...))
			s.SetPaging(tc.size, cursor)
			c, _ := dial(t, config(t, s.URL()))
			listing, err := c.List(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if len(listing.Tools) != tc.tools || listing.Loop != tc.loop || s.Count("tools/list") != tc.requests {
				t.Errorf("cursor %d: %d tools, loop %v, %d requests; want %+v",
					cursor, len(listing.Tools), listing.Loop, s.Count("tools/list"), tc)
			}
		}
		s := mcpfake.New(t, mcpfake.WithEra(era))
		s.SetPaging(1, mcpfake.Endless)
		c, _ := dial(t, config(t, s.URL()))
		tooLarge(t, c, "more than 100 pages")
		if n := s.Count("tools/list"); n != 100 {
			t.Errorf("%d requests, want 100", n)
		}
	})
}

func tooLarge(t *testing.T, c session.Conn, detail string) {
	t.Helper()
	_, err := c.List(t.Context())
	if !errors.Is(err, upstream.ErrCatalogTooLarge) {
		t.Fatalf("error = %v, want ErrCatalogTooLarge", err)
	}
	f := failureOf(t, err)
	want{failure.Protocol, failure.CatalogTooLarge, 0, true, detail}.check(t, f)
	if !f.Answered {
		t.Error("a catalog that is too large is an answer")
	}
}

// A cursor that was followed before ends the list, though its page had something new.
func TestB24_ACursorIsFollowedOnce(t *testing.T) {
	s := mcpfake.New(t)
	var n int
	s.Fault(mcpfake.List, mcpfake.Forever, mcpfake.Mutate(func(a *mcpfake.Answer) {
		n++
		a.Error = nil // the fake knows no such cursor
		a.Result = json.RawMessage(fmt.Sprintf(`{"tools":[{"name":"t%d"}],"nextCursor":"again"}`, n))
	}))
	c, _ := dial(t, config(t, s.URL()))
	if listing, err := c.List(t.Context()); err != nil || len(listing.Tools) != 2 || !listing.Loop || n != 2 {
		t.Errorf("%+v after %d requests, %v", listing, n, err)
	}
}

func TestListsAreBounded(t *testing.T) {
	s := mcpfake.New(t, mcpfake.WithTools(manyTools(2001)...), mcpfake.WithPageSize(500))
	c, _ := dial(t, config(t, s.URL()))
	tooLarge(t, c, "more than 2000 tools")
	big := make([]mcpfake.Tool, 9)
	for i := range big {
		big[i] = mcpfake.RawTool(fmt.Sprintf(`{"name":"t%d","description":%q}`, i, strings.Repeat("x", 1<<20)))
	}
	s.SetTools(big...)
	s.SetPaging(3, mcpfake.Honest)
	tooLarge(t, c, "more than 8 MiB")
	s.SetTools(manyTools(2000)...)
	s.SetPaging(500, mcpfake.Honest)
	if listing, err := c.List(t.Context()); err != nil || len(listing.Tools) != 2000 {
		t.Errorf("2000 tools are not too many: %v", err)
	}
}

// transports are the ways in which an answer may come.
var transports = map[string][]mcpfake.Option{
	"legacy body":   {mcpfake.WithEra(mcpfake.Legacy), mcpfake.WithEncoding(mcpfake.JSON)},
	"legacy stream": {mcpfake.WithEra(mcpfake.Legacy), mcpfake.WithEncoding(mcpfake.SSE)},
	"modern body":   {mcpfake.WithEra(mcpfake.Modern), mcpfake.WithEncoding(mcpfake.JSON)},
	"modern stream": {mcpfake.WithEra(mcpfake.Modern), mcpfake.WithEncoding(mcpfake.SSE)},
	"2024-11-05":    {mcpfake.WithEra(mcpfake.OldSSE)},
}

// An answer that is larger than what is read of one is a catalog that is too large, and an answer: the session stays.
func TestB40_AListLargerThanOneAnswer(t *testing.T) {
	for name, options := range transports {
		t.Run(name, func(t *testing.T) {
			s := mcpfake.New(t, append(options, mcpfake.WithTools(manyTools(3)...))...)
			c, watch := dial(t, config(t, s.URL()))
			s.Fault(mcpfake.List, 1, mcpfake.Oversized(17<<20))
			tooLarge(t, c, "one answer is larger than 16 MiB")
			if listing, err := c.List(t.Context()); err != nil || len(listing.Tools) != 3 {
				t.Errorf("the next list: %+v, %v", listing, err)
			}
			select {
			case err := <-watch.lost:
				t.Errorf("the session was lost: %v", err)
			default:
			}
		})
	}
}

// A server whose proof of life is its list lives, however large that is.
func TestAListThatIsTooLargeIsASignOfLife(t *testing.T) {
	s := mcpfake.New(t, mcpfake.WithoutSessions())
	c, _ := dial(t, config(t, s.URL()))
	withdraw := s.Fault(mcpfake.List, mcpfake.Forever, mcpfake.Oversized(17<<20))
	if err := c.Probe(t.Context()); err != nil || s.Count("tools/list") != 1 {
		t.Errorf("%v after %d lists", err, s.Count("tools/list"))
	}
	withdraw()
	s.SetTools(deepTool(20_000))
	if err := c.Probe(t.Context()); err != nil || s.Count("tools/list") != 2 {
		t.Errorf("%v after %d lists", err, s.Count("tools/list"))
	}
}

func deepTool(levels int) mcpfake.Tool {
	return mcpfake.RawTool(`{"name":"deep","inputSchema":` + strings.Repeat(`{"not":`, levels) + `{}` +
		strings.Repeat(`}`, levels) + `}`)
}

// A tool that nests deeper than JSON is commonly read costs the list nothing, and is withheld by its name.
func TestB35_AToolThatNestsTooDeepVoidsNoList(t *testing.T) {
	for name, options := range transports {
		t.Run(name, func(t *testing.T) {
			tools := []mcpfake.Tool{mcpfake.NewTool("first", nil), deepTool(20_000), mcpfake.NewTool("last", nil)}
			s := mcpfake.New(t, append(options, mcpfake.WithTools(tools...))...)
			c, _ := dial(t, config(t, s.URL()))
			listing, err := c.List(t.Context())
			if err != nil || len(listing.Tools) != 3 {
				t.Fatalf("%+v, %v", listing, err)
			}
			parsed := catalog.Parse(listing.Tools)
			if len(parsed.Tools) != 2 || parsed.Tools[0].Name != "first" || parsed.Tools[1].Name != "last" {
				t.Errorf("tools = %+v", parsed.Tools)
			}
			want := []catalog.Warning{{
				Type: catalog.InvalidTool, Tool: "deep", Message: "entry 2 of the list nests deeper than 256 levels",
			}}
			if !slices.Equal(parsed.Warnings.Items, want) {
				t.Errorf("warnings = %+v, want %+v", parsed.Warnings.Items, want)
			}
		})
	}
}

// What a call brings passes as it came or not at all: nothing is left out of it.
func TestAResultThatNestsTooDeepIsNotShortened(t *testing.T) {
	s := mcpfake.New(t)
	c, _ := dial(t, config(t, s.URL()))
	result := `{"content":[],"x":` + strings.Repeat(`[`, 20_000) + strings.Repeat(`]`, 20_000) + `}`
	s.Fault(mcpfake.Call, 1, mcpfake.Result(result))
	_, err := c.Call(t.Context(), call("echo", `{}`))
	want{failure.Protocol, failure.ProtocolError, 200, true, "not JSON"}.check(t, failureOf(t, err))
}

func TestB31_ServersWithoutTools(t *testing.T) {
	bothEras(t, func(t *testing.T, era mcpfake.Era) {
		s := mcpfake.New(t, mcpfake.WithEra(era), mcpfake.WithCapabilities(`{"resources":{}}`))
		c, _ := dial(t, config(t, s.URL()))
		if listing, err := c.List(t.Context()); err != nil || !listing.NoTools || s.Count("tools/list") != 0 {
			t.Errorf("%+v, %v, %d lists", listing, err, s.Count("tools/list"))
		}
		s = mcpfake.New(t, mcpfake.WithEra(era))
		s.Fault(mcpfake.List, mcpfake.Forever, mcpfake.RPC(-32601, "no such method", ""))
		c, _ = dial(t, config(t, s.URL()))
		if listing, err := c.List(t.Context()); err != nil || !listing.NoTools || s.Count("tools/list") != 1 {
			t.Errorf("%+v, %v, %d lists", listing, err, s.Count("tools/list"))
		}
	})
}

func TestAJSONRPCErrorToAListIsAnAnswer(t *testing.T) {
	s := mcpfake.New(t)
	c, _ := dial(t, config(t, s.URL()))
	s.Fault(mcpfake.List, 1, mcpfake.RPC(-32603, canary, ""))
	_, err := c.List(t.Context())
	f := failureOf(t, err)
	want{failure.Protocol, failure.ProtocolError, 0, true, ""}.check(t, f)
	if !f.Answered || strings.Contains(err.Error(), canary) {
		t.Errorf("failure = %+v %v", f, err)
	}
}

func TestPagesOfAWrongShapeFailTheList(t *testing.T) {
	s := mcpfake.New(t)
	c, _ := dial(t, config(t, s.URL()))
	for _, result := range []string{`{}`, `{"tools":{}}`, `{"tools":[],"nextCursor":7}`, `[]`, `"x"`} {
		s.Fault(mcpfake.List, 1, mcpfake.Result(result))
		_, err := c.List(t.Context())
		want{failure.Protocol, failure.ProtocolError, 0, true, ""}.check(t, failureOf(t, err))
	}
}

// Tools pass as bytes, whatever they are, and one that is none voids no list.
func TestToolsPassAsBytes(t *testing.T) {
	odd := []mcpfake.Tool{
		mcpfake.RawTool(`{"name":"n","inputSchema":{"maximum":12345678901234567890,"minimum":1.0},"x":[1e400]}`),
		mcpfake.RawTool(`7`), mcpfake.RawTool(`null`), mcpfake.RawTool(`{"name":3}`),
	}
	s := mcpfake.New(t, mcpfake.WithTools(odd...))
	c, _ := dial(t, config(t, s.URL()))
	listing, err := c.List(t.Context())
	if err != nil || len(listing.Tools) != len(odd) {
		t.Fatalf("%v, %v", listing, err)
	}
	for i, tool := range odd {
		if string(listing.Tools[i]) != string(tool.Doc) {
			t.Errorf("tool %d = %s, want %s", i, listing.Tools[i], tool.Doc)
		}
	}
}

func TestTTLIsTheServers(t *testing.T) {
	s := mcpfake.New(t, mcpfake.WithEra(mcpfake.Modern), mcpfake.WithTTL(90*time.Second))
	c, _ := dial(t, config(t, s.URL()))
	if listing, err := c.List(t.Context()); err != nil || listing.TTL != 90*time.Second {
		t.Errorf("%+v, %v", listing, err)
	}
	for _, ttl := range []string{`-5`, `"soon"`, `null`, `0`} {
		s.Fault(mcpfake.List, 1, mcpfake.Mutate(func(a *mcpfake.Answer) {
			a.Result = json.RawMessage(`{"tools":[],"ttlMs":` + ttl + `}`)
		}))
		if listing, err := c.List(t.Context()); err != nil || listing.TTL != 0 {
			t.Errorf("ttlMs %s: %+v, %v", ttl, listing, err)
		}
	}
}
