package mcpfake

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// Tool is one entry of tools/list and what a call of it does.
type Tool struct {
	Name string
	Doc  json.RawMessage // as listed; need not be a valid tool, or valid JSON
	Run  Run             // nil echoes the arguments
}

// Run gives a call's result object. An *RPCError becomes the JSON-RPC error; any other error becomes -32603.
type Run func(*Invocation) (result json.RawMessage, err error)

// Invocation is one tool run.
type Invocation struct {
	context.Context // ended by notifications/cancelled, the client's going away (unless resumable), and Close

	Tool      string
	Arguments json.RawMessage // as sent; nil when absent
	Meta      json.RawMessage // params._meta as sent
	Session   string
	Overlap   int // runs in flight when this one began, itself included
	Nth       int // 1 for the first call of its session; always 1 in the modern era

	notify  func(data []byte)
	server  *Server
	release <-chan struct{}
}

// Send writes any JSON-RPC message to the call's own stream; without one (encoding JSON) it is lost.
func (c *Invocation) Send(message string) { c.notify([]byte(message)) }

// Progress sends notifications/progress with the call's token; without a token it does nothing.
func (c *Invocation) Progress(done, total int) {
	var meta struct {
		Token json.RawMessage `json:"progressToken"`
	}
	if json.Unmarshal(c.Meta, &meta) != nil || len(meta.Token) == 0 {
		return
	}
	c.notify(notification("notifications/progress",
		fmt.Sprintf(`"progressToken":%s,"progress":%d,"total":%d`, meta.Token, done, total)))
}

// Wait returns after d, or with false when the run is cancelled. With d = 0 it waits for the first Server.Release
// since the run began.
func (c *Invocation) Wait(d time.Duration) bool {
	release := c.release
	var after <-chan time.Time
	if d > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		after, release = t.C, nil
	}
	select {
	case <-after:
	case <-release:
	case <-c.Done():
		return false
	}
	return true
}

// Text is a tool result with one text block.
func Text(text string) json.RawMessage {
	quoted, _ := json.Marshal(text)
	return json.RawMessage(`{"content":[{"type":"text","text":` + string(quoted) + `}]}`)
}

// NewTool is a well-formed tool; run nil echoes the arguments.
func NewTool(name string, run Run) Tool {
	quoted, _ := json.Marshal(name)
	doc := fmt.Sprintf(`{"name":%s,"description":"tool of the fake server","inputSchema":{"type":"object"}}`, quoted)
	return Tool{Name: name, Doc: json.RawMessage(doc), Run: run}
}

// RawTool is listed exactly as given; its name is what the document says, if it says one.
func RawTool(doc string) Tool {
	var d struct {
		Name string `json:"name"`
	}
	_ = json.Unmarshal([]byte(doc), &d)
	return Tool{Name: d.Name, Doc: json.RawMessage(doc)}
}

// DefaultTools are:
//   - echo: gives its arguments back, byte for byte, as text;
//   - slow: answers after {"ms":n}, without it at Server.Release; {"deaf":true} makes it ignore cancellation;
//   - progress: {"steps":n,"ms":m} sends n notifications, m ms apart, then answers;
//   - fail: a result with isError;
//   - count: the number of calls in this session.
func DefaultTools() []Tool {
	return []Tool{
		NewTool("echo", nil), NewTool("slow", slow), NewTool("progress", progress),
		NewTool("fail", func(*Invocation) (json.RawMessage, error) {
			return json.RawMessage(`{"content":[{"type":"text","text":"the tool failed"}],"isError":true}`), nil
		}),
		NewTool("count", func(c *Invocation) (json.RawMessage, error) { return Text(strconv.Itoa(c.Nth)), nil }),
	}
}

func slow(c *Invocation) (json.RawMessage, error) {
	var args struct {
		MS   int  `json:"ms"`
		Deaf bool `json:"deaf"`
	}
	_ = json.Unmarshal(c.Arguments, &args)
	if args.Deaf {
		c.Context = c.server.ctx
	}
	if !c.Wait(time.Duration(args.MS) * time.Millisecond) {
		return nil, c.Err()
	}
	return Text("done"), nil
}

func progress(c *Invocation) (json.RawMessage, error) {
	args := struct {
		Steps int `json:"steps"`
		MS    int `json:"ms"`
	}{Steps: 3, MS: 1}
	_ = json.Unmarshal(c.Arguments, &args)
	for i := range args.Steps {
		c.Progress(i+1, args.Steps)
		if !c.Wait(time.Duration(max(args.MS, 1)) * time.Millisecond) {
			return nil, c.Err()
		}
	}
	return Text("done"), nil
}

// SetTools replaces the catalogue; it does not notify.
func (s *Server) SetTools(tools ...Tool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tools = append([]Tool(nil), tools...)
}

// AddTool adds to the catalogue, also a second tool of the same name; it does not notify.
func (s *Server) AddTool(t Tool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tools = append(s.tools[:len(s.tools):len(s.tools)], t)
}

// RemoveTool removes every tool of this name; it does not notify.
func (s *Server) RemoveTool(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var kept []Tool
	for _, t := range s.tools {
		if t.Name != name {
			kept = append(kept, t)
		}
	}
	s.tools = kept
}

// Cursor is the way that a catalogue's cursors go.
type Cursor int

// The ways.
const (
	Honest  Cursor = iota // the last page has no nextCursor
	Empty                 // the last page has "nextCursor":""
	Null                  // the last page has "nextCursor":null
	Loop                  // the last page's nextCursor leads to the last page again
	Endless               // every page has a new cursor and new tools
)

type paging struct {
	size   int // 0 means one page
	cursor Cursor
}

// SetPaging changes page size (0: one page) and the way of cursors.
func (s *Server) SetPaging(size int, c Cursor) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paging = paging{size: size, cursor: c}
}

// list is the result object of one tools/list request.
func (s *Server) list(params json.RawMessage) (json.RawMessage, *RPCError) {
	var p struct {
		Cursor string `json:"cursor"`
	}
	_ = json.Unmarshal(params, &p)
	s.mu.Lock()
	tools, pg := s.tools, s.paging
	s.mu.Unlock()
	from := 0
	if p.Cursor != "" {
		var err error
		if from, err = strconv.Atoi(p.Cursor); err != nil || from < 0 {
			return nil, &RPCError{Code: -32602, Message: "invalid cursor"}
		}
	}
	if pg.cursor == Endless {
		doc := NewTool("endless_"+strconv.Itoa(from), nil)
		return page([]Tool{doc}, `,"nextCursor":"`+strconv.Itoa(from+1)+`"`), nil
	}
	from = min(from, len(tools))
	to := len(tools)
	if pg.size > 0 {
		to = min(from+pg.size, to)
	}
	return page(tools[from:to], pg.next(from, to, len(tools))), nil
}

// next is the nextCursor member of the page [from, to) of n tools.
func (p paging) next(from, to, n int) string {
	switch {
	case to < n:
		return `,"nextCursor":"` + strconv.Itoa(to) + `"`
	case p.cursor == Empty:
		return `,"nextCursor":""`
	case p.cursor == Null:
		return `,"nextCursor":null`
	case p.cursor == Loop:
		return `,"nextCursor":"` + strconv.Itoa(from) + `"`
	}
	return ""
}

func page(tools []Tool, next string) json.RawMessage {
	var b bytes.Buffer
	b.WriteString(`{"tools":[`)
	for i, t := range tools {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(t.Doc)
	}
	b.WriteString(`]` + next + `}`)
	return b.Bytes()
}
