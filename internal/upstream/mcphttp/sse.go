package mcphttp

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"
	"strconv"
	"time"
)

// Event is one event.
type Event struct {
	// Type is "message" unless the server named another.
	Type string
	// Data are the data lines, joined by newlines. Empty for an event that only carries an id.
	Data []byte
}

// eventReader reads server-sent events as the HTML Living Standard (section 9.2) defines them, with a bound on the size
// of one. It reads only when asked to, so an abandoned reader costs nothing. It is for one goroutine.
//
// Departures from browsers: an event without data is returned when it carries an id, because MCP servers send such
// events so that a stream can be resumed; of an event above the bound the beginning is returned with ErrTooLarge, and
// the stream goes on behind it. Returned with nothing, ErrTooLarge says that the event does not end.
type eventReader struct {
	in    *bufio.Reader
	limit int

	lastID   string        // of the last event that had one; "" when the server took it back
	retry    time.Duration // how long the server asks to wait before the stream is opened again
	hasRetry bool
	size     int
	skipLF   bool
	begun    bool
	over     bool // an event that is too large has not ended yet
}

// newEventReader returns a reader of events of at most limit bytes.
func newEventReader(in io.Reader, limit int) *eventReader {
	return &eventReader{in: bufio.NewReaderSize(in, 4096), limit: limit}
}

// Next returns the next event. At the end of the stream the error is io.EOF, whether or not an event was cut short.
// With ErrTooLarge comes the event up to the limit, and the next event may still be read.
func (r *eventReader) Next() (Event, error) {
	var e block
	if err := r.finish(); err != nil {
		return Event{}, err
	}
	r.size = 0
	for {
		line, err := r.line()
		if errors.Is(err, ErrTooLarge) {
			if field, value := split(line); field == "data" {
				e.data = append(e.data, value)
			}
			r.over = true
			return e.event(), err
		}
		if err != nil {
			return Event{}, err
		}
		if len(line) > 0 {
			r.take(&e, line)
			continue
		}
		if e.hasData || e.hasID {
			return e.event(), nil
		}
		e, r.size = block{}, 0
	}
}

// block is an event in the making.
type block struct {
	kind           string
	data           [][]byte
	hasData, hasID bool
}

func (b *block) event() Event {
	if b.kind == "" {
		b.kind = "message"
	}
	return Event{Type: b.kind, Data: bytes.Join(b.data, []byte("\n"))}
}

func (r *eventReader) take(b *block, line []byte) {
	field, value := split(line)
	switch field {
	case "": // a comment: keep-alives may come for ever without an event between
		r.size -= len(line)
	case "event":
		b.kind = string(value)
	case "data":
		b.data, b.hasData = append(b.data, value), true
	case "id":
		if bytes.IndexByte(value, 0) < 0 {
			r.lastID, b.hasID = string(value), true
		}
	case "retry":
		if ms, err := strconv.ParseUint(string(value), 10, 31); err == nil {
			r.retry, r.hasRetry = time.Duration(ms)*time.Millisecond, true
		}
	}
}

// split cuts "field: value"; a comment has the field "".
func split(line []byte) (string, []byte) {
	field, value, _ := bytes.Cut(line, []byte(":"))
	return string(field), bytes.TrimPrefix(value, []byte(" "))
}

// line returns one line without its end: LF, CR or CRLF. The line is the caller's to keep.
func (r *eventReader) line() ([]byte, error) {
	var line []byte
	for {
		piece, end, err := r.piece(r.limit - r.size + 1)
		if err != nil {
			return nil, err
		}
		if need := len(line) + len(piece); need > cap(line) {
			line = slices.Grow(line, need) // doubled: large events are copied seldom
		}
		line = append(line, piece...)
		r.size += len(piece)
		if over := r.size - r.limit; over > 0 {
			return r.withoutMark(line[:len(line)-over]), ErrTooLarge
		}
		if end {
			return r.withoutMark(line), nil
		}
	}
}

// piece returns what one read gives of a line, at most n bytes, and whether the line ends behind it. It is valid until
// the next read.
func (r *eventReader) piece(n int) (piece []byte, end bool, err error) {
	if _, err = r.in.Peek(1); err != nil {
		return nil, false, err
	}
	piece, _ = r.in.Peek(min(n, r.in.Buffered()))
	if r.skipLF && piece[0] == '\n' {
		r.skipLF = false
		_, _ = r.in.Discard(1)
		return nil, false, nil
	}
	r.skipLF = false
	used := len(piece)
	if at := bytes.IndexByte(piece, '\n'); at >= 0 {
		piece, end, used = piece[:at], true, at+1
	}
	if at := bytes.IndexByte(piece, '\r'); at >= 0 { // its LF, if it has one, may not have come yet
		piece, end, used, r.skipLF = piece[:at], true, at+1, true
	}
	_, _ = r.in.Discard(used)
	return piece, end, nil
}

// maxExcess is how many limits of an event that is too large are read in search of its end.
const maxExcess = 4

// finish reads an event that is too large to its end, keeping nothing.
func (r *eventReader) finish() error {
	blank := false
	for n := 0; r.over; {
		if n >= maxExcess*r.limit {
			return ErrTooLarge
		}
		piece, end, err := r.piece(maxExcess*r.limit - n)
		if err != nil {
			return err
		}
		n += len(piece)
		blank = blank && len(piece) == 0
		if end {
			n++
			r.over, blank = !blank, true
		}
	}
	return nil
}

// withoutMark drops the byte order mark that a stream may begin with.
func (r *eventReader) withoutMark(line []byte) []byte {
	if r.begun {
		return line
	}
	r.begun = true
	return bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
}
