package mcphttp

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

func read(t *testing.T, text string, limit int) (events []Event, r *eventReader, err error) {
	t.Helper()
	r = newEventReader(iotest.OneByteReader(strings.NewReader(text)), limit)
	for {
		event, err := r.Next()
		if err != nil {
			return events, r, err
		}
		events = append(events, event)
	}
}

func TestReaderKnowsEveryLineEndAndField(t *testing.T) {
	text := "\xef\xbb\xbf: hello\n" +
		"data: a\ndata:b\n\n" +
		"event: ping\r\ndata: {\"x\":1}\r\nid: 7\r\n\r\n" +
		"retry: 1500\rdata:  two spaces\r\r" +
		"retry: soon\nunknown: x\n\n" +
		"id: 8\ndata\n\n" +
		"data: cut short"
	events, r, err := read(t, text, 1000)
	if !errors.Is(err, io.EOF) {
		t.Fatalf("error = %v, want EOF", err)
	}
	want := []Event{
		{Type: "message", Data: []byte("a\nb")},
		{Type: "ping", Data: []byte(`{"x":1}`)},
		{Type: "message", Data: []byte(" two spaces")},
		{Type: "message", Data: []byte("")},
	}
	if len(events) != len(want) {
		t.Fatalf("events = %q, want %d", events, len(want))
	}
	for i := range want {
		if events[i].Type != want[i].Type || string(events[i].Data) != string(want[i].Data) {
			t.Errorf("event %d = %q %q, want %q %q", i, events[i].Type, events[i].Data, want[i].Type, want[i].Data)
		}
	}
	if r.lastID != "8" {
		t.Errorf("last id = %q, want 8", r.lastID)
	}
	if retry, ok := r.retry, r.hasRetry; !ok || retry != 1500*time.Millisecond {
		t.Errorf("retry = %v %v, want 1.5s", retry, ok)
	}
}

func TestReaderReturnsPrimingEvents(t *testing.T) {
	events, r, _ := read(t, "id: 1\ndata:\n\nid: 2\n\nid: bad\x00id\n\n", 100)
	if len(events) != 2 || len(events[0].Data) != 0 || len(events[1].Data) != 0 {
		t.Fatalf("events = %q, want two without data", events)
	}
	if r.lastID != "2" {
		t.Errorf("last id = %q, want 2", r.lastID)
	}
}

func TestReaderBoundsOneEventNotTheStream(t *testing.T) {
	fits := strings.Repeat("data: 0123456789\n\n", 50)
	events, _, err := read(t, fits, 20)
	if len(events) != 50 || !errors.Is(err, io.EOF) {
		t.Fatalf("%d events, %v; want 50 and EOF", len(events), err)
	}
	for _, text := range []string{
		"data: 0123456789abcdef", strings.Repeat("data: 0\n", 10), ":" + strings.Repeat("x", 30),
	} {
		if _, _, err := read(t, text, 20); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%q: error = %v, want ErrTooLarge", text, err)
		}
	}
}

// An event that is too large costs itself alone: its beginning is returned, and the next one is the one after.
func TestReaderGoesOnBehindWhatIsTooLarge(t *testing.T) {
	for what, c := range map[string]struct{ text, want string }{
		"one line":    {"data: 0123456789abcdefghij\nid: x\n\ndata: next\n\n", "0123456789abcd"},
		"CR":          {"data: 0123456789abcdefghij\rid: x\r\rdata: next\r\r", "0123456789abcd"},
		"CRLF":        {"data: 0123456789abcdefghij\r\nid: x\r\n\r\ndata: next\r\n\r\n", "0123456789abcd"},
		"many lines":  {"data: 01234567\nid: 1234567\nevent: x\nretry: 100\n\ndata: next\n\n", "01234567"},
		"a new line":  {"data: 0123456789abcd\nx\n\ndata: next\n\n", "0123456789abcd"},
		"no comments": {":0123456789abcdefghijk\n\ndata: next\n\n", ""},
	} {
		r := newEventReader(iotest.OneByteReader(strings.NewReader(c.text)), 20)
		event, err := r.Next()
		if !errors.Is(err, ErrTooLarge) || string(event.Data) != c.want {
			t.Errorf("%s: %q, %v; want %q", what, event.Data, err, c.want)
		}
		if event, err = r.Next(); err != nil || string(event.Data) != "next" || event.Type != "message" {
			t.Errorf("%s: next event = %q, %v", what, event.Data, err)
		}
		if _, err := r.Next(); !errors.Is(err, io.EOF) {
			t.Errorf("%s: %v at the end, want EOF", what, err)
		}
	}
}

func TestReaderGivesUpOnAnEventWithoutEnd(t *testing.T) {
	r := newEventReader(strings.NewReader(strings.Repeat("x\n", 300)), 20)
	for range 3 {
		if event, err := r.Next(); !errors.Is(err, ErrTooLarge) || len(event.Data) != 0 {
			t.Errorf("%q, %v; want ErrTooLarge", event.Data, err)
		}
	}
	r = newEventReader(strings.NewReader(strings.Repeat("x\n", 60)), 30)
	_, _ = r.Next()
	if _, err := r.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("%v, want EOF", err)
	}
}

func TestReaderPassesErrorsOn(t *testing.T) {
	cut := errors.New("cut")
	r := newEventReader(io.MultiReader(strings.NewReader("data: a\n"), iotest.ErrReader(cut)), 100)
	if _, err := r.Next(); !errors.Is(err, cut) {
		t.Errorf("error = %v, want the reader's", err)
	}
}

func FuzzReader(f *testing.F) {
	f.Add("id: 1\r\ndata: x\n\n: c\n\n")
	f.Fuzz(func(t *testing.T, text string) {
		whole, _, wholeErr := read(t, text, 64)
		r := newEventReader(strings.NewReader(text), 64)
		for i := 0; ; i++ {
			event, err := r.Next()
			if err != nil {
				if i != len(whole) || !errors.Is(err, wholeErr) {
					t.Fatalf("chunking changes the outcome: %d %v, %d %v", i, err, len(whole), wholeErr)
				}
				return
			}
			if len(event.Data) > 64 || string(event.Data) != string(whole[i].Data) {
				t.Fatalf("event %d = %q, want %q", i, event.Data, whole[i].Data)
			}
		}
	})
}
