package rpc

import (
	"encoding/json"
	"errors"
	"testing"
)

func TestParseKeepsBytesAndExactNames(t *testing.T) {
	messages, err := Parse([]byte(` {"id":"m-1","Result":1,"result":{"n":12345678901234567890,"a":1.0},"x":0} `))
	if err != nil || len(messages) != 1 {
		t.Fatalf("Parse = %v, %v", messages, err)
	}
	m := messages[0]
	if string(m.Result) != `{"n":12345678901234567890,"a":1.0}` || !m.Answers("m-1") || m.Answers("m-2") {
		t.Errorf("message = %+v", m)
	}
	if _, err := Parse([]byte(`{"id":"m-1","Result":1}`)); !errors.Is(err, ErrMalformed) {
		t.Errorf("another case of a member's name was taken: %v", err)
	}
}

func TestParseTellsKindsApart(t *testing.T) {
	cases := []struct {
		text                 string
		ok, response, wanted bool
	}{
		{`{"jsonrpc":"2.0","method":"ping","id":7}`, true, false, true},
		{`{"method":"notifications/progress","params":null}`, true, false, false},
		{`{"method":"x","id":null}`, true, false, false},
		{`{"id":1,"result":null}`, true, true, false},
		{`{"id":1,"error":null}`, false, false, false},
		{`{"id":1}`, false, false, false},
		{`{"method":7}`, false, false, false},
		{`null`, false, false, false},
		{`[]`, false, false, false},
		{`[1]`, false, false, false},
		{`"x"`, false, false, false},
		{``, false, false, false},
		{`{"id":1,"result":{}`, false, false, false},
	}
	for _, c := range cases {
		messages, err := Parse([]byte(c.text))
		if (err == nil) != c.ok {
			t.Errorf("%s: error = %v, want ok %v", c.text, err, c.ok)
			continue
		}
		if c.ok && (messages[0].IsResponse() != c.response || messages[0].IsRequest() != c.wanted) {
			t.Errorf("%s: %+v", c.text, messages[0])
		}
	}
	batch, err := Parse([]byte(`[{"method":"a"},{"id":"b","result":{}}]`))
	if err != nil || len(batch) != 2 || batch[0].Method != "a" || !batch[1].Answers("b") {
		t.Errorf("batch = %+v, %v", batch, err)
	}
}

func TestAnswersWantsTheIDsOwnType(t *testing.T) {
	for _, id := range []string{`1`, `null`, `["1"]`, `"2"`} {
		m := Message{ID: json.RawMessage(id), Result: json.RawMessage(`{}`)}
		if m.Answers("1") {
			t.Errorf("id %s answers \"1\"", id)
		}
	}
}

func TestFaultNeedsACode(t *testing.T) {
	for text, ok := range map[string]bool{
		`{"code":-32601,"message":"m","data":{"a":1}}`: true,
		`{"code":-32601,"message":{}}`:                 true,
		`{"message":"m"}`:                              false,
		`{"code":"x"}`:                                 false,
		`"text"`:                                       false,
	} {
		m := Message{Error: json.RawMessage(text)}
		fault, got := m.Fault()
		if got != ok || ok && fault.Code != MethodNotFound {
			t.Errorf("%s: %+v, %v", text, fault, got)
		}
	}
	if _, ok := (&Message{}).Fault(); ok {
		t.Error("a message without error has a fault")
	}
}

func TestEncodings(t *testing.T) {
	seven, params := json.RawMessage(`7`), json.RawMessage(`{"a":1.0}`)
	for want, got := range map[string][]byte{
		`{"jsonrpc":"2.0","id":"m-1","method":"x","params":{"a":1.0}}`:          Request("m-1", "x", params),
		`{"jsonrpc":"2.0","method":"notifications/x"}`:                          Notification("notifications/x", nil),
		`{"jsonrpc":"2.0","id":7,"result":{"a":1.0}}`:                           Reply(seven, params),
		`{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"no \"x\""}}`: Refusal(seven, MethodNotFound, `no "x"`),
	} {
		if string(got) != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestObjectKeepsOrderAndBytes(t *testing.T) {
	o, err := ParseObject(json.RawMessage(` { "b" : 1.0 , "a":{"x":  [1e400]},"b":"<&>" } `))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(o.Get("b")); got != `"<&>"` {
		t.Errorf("b = %s, want the last", got)
	}
	added := string(o.With("c", json.RawMessage(`true`)).Encode())
	if added != `{"b":1.0,"a":{"x":  [1e400]},"b":"<&>","c":true}` {
		t.Errorf("encoded = %s", added)
	}
	if got := string(o.With("b", json.RawMessage(`2`)).Encode()); got != `{"b":2,"a":{"x":  [1e400]}}` {
		t.Errorf("encoded = %s", got)
	}
	for _, text := range []string{`[]`, `1`, `{"a"}`, `{"a":1}}`, `{"a":1`, `{"a":}`} {
		if _, err := ParseObject(json.RawMessage(text)); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: error = %v, want ErrMalformed", text, err)
		}
	}
	for _, text := range []string{``, `null`, `{}`} {
		if o, err := ParseObject(json.RawMessage(text)); err != nil || string(o.Encode()) != `{}` {
			t.Errorf("%q: %v, %v", text, o, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"id":1,"result":{}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		messages, err := Parse(body)
		if (err == nil) == (len(messages) == 0) {
			t.Fatalf("%d messages, %v", len(messages), err)
		}
		for _, m := range messages {
			m.Fault()
			m.Answers("x")
		}
	})
}

// What split finds is what encoding/json finds, byte for byte.
func FuzzSplit(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"a":1}`, ` { "a" : "b\\" , "c" : [1,{"d":"]}"}] , "e":null,"a":-1.5e3 } `,
		`{"\u00e9\"":"\\\""}`, `[]`, `{"a"`, "{\"\xff\":0}",
		`{"":""}`, `{"a":{"b":{}},"c":[[]]}`, `{"a":true}`, `null`, ``,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var want map[string]json.RawMessage
		wanted := json.Unmarshal(raw, &want) == nil && want != nil
		got, ok := split(raw)
		if ok != wanted {
			t.Fatalf("%q: %t, want %t", raw, ok, wanted)
		}
		names := map[string]bool{}
		for _, member := range got {
			names[member.Name] = true
			if last := got.Get(member.Name); string(last) != string(want[member.Name]) {
				t.Errorf("%q: %q is %q, want %q", raw, member.Name, last, want[member.Name])
			}
		}
		if len(names) != len(want) {
			t.Errorf("%q: %d names, want %d", raw, len(names), len(want))
		}
		encoded, _ := json.Marshal(string(raw))
		if text := appendText(nil, string(raw)); string(text) != string(encoded) {
			t.Errorf("%q encodes to %s, want %s", raw, text, encoded)
		}
	})
}
