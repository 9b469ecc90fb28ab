package upstream

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mooring-dev/mooring/internal/session"
	"github.com/mooring-dev/mooring/internal/upstream/rpc"
)

func TestAnEraFoundByAHangIsKeptForAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &EraMemory{}
		m.hung()
		time.Sleep(time.Hour - time.Second)
		if era := m.recall(); era != Legacy {
			t.Errorf("era = %q within the hour", era)
		}
		if _, ok := m.Confirmed(); ok {
			t.Error("a hang confirms nothing")
		}
		time.Sleep(time.Second)
		if era := m.recall(); era != "" {
			t.Errorf("era = %q after an hour", era)
		}
		m.Confirm(Modern)
		time.Sleep(1000 * time.Hour)
		if era := m.recall(); era != Modern {
			t.Errorf("era = %q though confirmed", era)
		}
		m.Forget()
		if era := m.recall(); era != "" {
			t.Errorf("era = %q though forgotten", era)
		}
	})
}

func TestClientInfoIsTheUserAgent(t *testing.T) {
	for agent, want := range map[string]implementation{
		"mooring/1.2.3": {"mooring", "1.2.3"}, "": {"mooring", "unknown"}, "x": {"x", "unknown"},
		"mooring/1.2 (linux)": {"mooring", "1.2"},
	} {
		if got := clientInfo(agent); got != want {
			t.Errorf("%q: %+v", agent, got)
		}
	}
}

func TestMirroredArguments(t *testing.T) {
	var m paramHeaders
	m.learn(true, []json.RawMessage{
		json.RawMessage(`{"name":"t","inputSchema":{"properties":{
			"s":{"x-mcp-header":"S"},"i":{"x-mcp-header":"I"},"b":{"x-mcp-header":"B"},"f":{"x-mcp-header":"F"},
			"big":{"x-mcp-header":"Big"},"n":{"x-mcp-header":"N"},"o":{"x-mcp-header":"O"},"gone":{"x-mcp-header":"Gone"},
			"bad":{"x-mcp-header":"a b"},"empty":{"x-mcp-header":""},"odd":{"x-mcp-header":7},"true":true,
			"in":{"properties":{"deep":{"x-mcp-header":"Deep"}}},"flat":{"properties":{"x":{"x-mcp-header":"Flat"}}}}}}`),
		json.RawMessage(`7`), json.RawMessage(`{"name":"none","inputSchema":true}`),
	})
	params, err := rpc.ParseObject(json.RawMessage(`{"name":"t","arguments":{"s":"wört","i":-7,"b":true,"f":1.5,
		"big":9007199254740993,"n":null,"o":{},"bad":"x","empty":"x","odd":"x","in":{"deep":"d"},"flat":3}}`))
	if err != nil {
		t.Fatal(err)
	}
	got := m.header(&session.Call{Method: "tools/call", Tool: "t"}, params)
	want := http.Header{
		"Mcp-Name": {"t"}, "Mcp-Param-S": {"=?base64?d8O2cnQ=?="}, "Mcp-Param-I": {"-7"}, "Mcp-Param-B": {"true"},
		"Mcp-Param-Deep": {"d"},
	}
	if len(got) != len(want) {
		t.Errorf("headers = %v, want %v", got, want)
	}
	for name := range want {
		if got.Get(name) != want.Get(name) {
			t.Errorf("%s = %q, want %q", name, got.Get(name), want.Get(name))
		}
	}
	if m.has("none") || !m.has("t") {
		t.Error("tools are mixed up")
	}
	m.learn(false, nil)
	if !m.has("t") {
		t.Error("a legacy list taught something")
	}
}

func TestInfoTextIsFitToBeShown(t *testing.T) {
	info := json.RawMessage(`{"name":"\u200b\ufeffé\u0000x\ny","title":"` + strings.Repeat("日", 300) + `","version":7}`)
	if got := infoText(info, "name"); got != "éx y" {
		t.Errorf("name = %q", got)
	}
	if got := []rune(infoText(info, "title")); len(got) != maxInfoText {
		t.Errorf("title has %d characters", len(got))
	}
	if got := infoText(info, "version"); got != "" {
		t.Errorf("version = %q", got)
	}
}

func TestOfferedVersions(t *testing.T) {
	cases := []struct {
		data, text, asked string
		want              string
	}{
		{`{"supported":["2025-06-18","x y","` + strings.Repeat("x", 40) + `"]}`, "", "", "2025-06-18"},
		{`{"supported":[]}`, "2025-03-26 and 2025-03-26, not 2025-11-25", "2025-11-25", "2025-03-26"},
		{`7`, "12025-03-26 2025-03-261", "", ""},
	}
	for _, c := range cases {
		got := offered(json.RawMessage(c.data), []byte(c.text), c.asked)
		if c.want == "" && len(got) != 0 || c.want != "" && (len(got) != 1 || got[0] != c.want) {
			t.Errorf("%s %s: %v", c.data, c.text, got)
		}
	}
}
