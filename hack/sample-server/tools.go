package main

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func newServer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "sample-server", Title: "Sample server", Version: "1.0.0"},
		&mcp.ServerOptions{Instructions: "Small tools for trying out a connection."})
	mcp.AddTool(s, readOnly("echo", "Gives a text back unchanged."), echo)
	mcp.AddTool(s, readOnly("add", "Adds two numbers."), add)
	mcp.AddTool(s, readOnly("now", "Tells the time, in UTC or in a zone of the tz database."), now)
	mcp.AddTool(s, readOnly("word_count", "Counts the lines, words and characters of a text."), wordCount)
	mcp.AddTool(s, readOnly("wait", "Waits up to 300 seconds, reporting progress each second."), wait)
	return s
}

func readOnly(name, description string) *mcp.Tool {
	return &mcp.Tool{Name: name, Description: description, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}
}

// addGreeter adds a tool at run time; clients are told by the SDK.
func addGreeter(s *mcp.Server, name string) {
	type in struct {
		Whom string `json:"whom,omitempty" jsonschema:"whom to greet"`
	}
	mcp.AddTool(s, readOnly(name, "Greets; added while the server ran."),
		func(_ context.Context, _ *mcp.CallToolRequest, args in) (*mcp.CallToolResult, any, error) {
			if args.Whom == "" {
				args.Whom = "world"
			}
			return text("hello " + args.Whom + " from " + name), nil, nil
		})
}

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

type echoIn struct {
	Text string `json:"text" jsonschema:"the text to give back"`
}

func echo(_ context.Context, _ *mcp.CallToolRequest, in echoIn) (*mcp.CallToolResult, any, error) {
	return text(in.Text), nil, nil
}

type addIn struct {
	A float64 `json:"a" jsonschema:"the first number"`
	B float64 `json:"b" jsonschema:"the second number"`
}

type addOut struct {
	Sum float64 `json:"sum" jsonschema:"a plus b"`
}

func add(_ context.Context, _ *mcp.CallToolRequest, in addIn) (*mcp.CallToolResult, addOut, error) {
	return nil, addOut{Sum: in.A + in.B}, nil
}

type nowIn struct {
	Zone string `json:"zone,omitempty" jsonschema:"such as Europe/Zurich; UTC when absent"`
}

func now(_ context.Context, _ *mcp.CallToolRequest, in nowIn) (*mcp.CallToolResult, any, error) {
	zone, err := time.LoadLocation(in.Zone)
	if err != nil {
		return nil, nil, fmt.Errorf("unknown time zone %q", in.Zone)
	}
	return text(time.Now().In(zone).Format(time.RFC3339)), nil, nil
}

type countIn struct {
	Text string `json:"text" jsonschema:"the text to count"`
}

type countOut struct {
	Lines      int `json:"lines"`
	Words      int `json:"words"`
	Characters int `json:"characters"`
}

func wordCount(_ context.Context, _ *mcp.CallToolRequest, in countIn) (*mcp.CallToolResult, countOut, error) {
	out := countOut{Words: len(strings.Fields(in.Text)), Characters: utf8.RuneCountInString(in.Text)}
	if in.Text != "" {
		out.Lines = strings.Count(strings.TrimSuffix(in.Text, "\n"), "\n") + 1
	}
	return nil, out, nil
}

type waitIn struct {
	Seconds float64 `json:"seconds" jsonschema:"how long to wait, at most 300"`
}

func wait(ctx context.Context, req *mcp.CallToolRequest, in waitIn) (*mcp.CallToolResult, any, error) {
	if in.Seconds < 0 || in.Seconds > 300 {
		return nil, nil, fmt.Errorf("seconds must be between 0 and 300, got %v", in.Seconds)
	}
	end := time.NewTimer(time.Duration(in.Seconds * float64(time.Second)))
	defer end.Stop()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for done := 0.0; ; {
		select {
		case <-end.C:
			return text(fmt.Sprintf("waited %v s", in.Seconds)), nil, nil
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		case <-tick.C:
			done++
			if token := req.Params.GetProgressToken(); token != nil {
				// Best effort: a lost notification does not spoil the answer.
				_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
					ProgressToken: token, Progress: done, Total: in.Seconds})
			}
		}
	}
}
