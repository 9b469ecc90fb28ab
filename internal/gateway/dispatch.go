package gateway

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/gateway/directory"
	"github.com/mooring-dev/mooring/internal/upstream/rpc"
)

// The two tools of an AgentSession with exposure Dispatch.
const (
	describeTool = "describe_mcp"
	dispatchTool = "call_mcp"
)

// dispatchList describes them. It is the same whatever they reach, so a model's context does not grow with the
// servers.
var dispatchList = json.RawMessage(`[{
  "name": "describe_mcp",
  "description": "Lists the tools that call_mcp can call, one line each. With the name of one, gives its definition.",
  "inputSchema": {
    "type": "object",
    "properties": {"tool": {"type": "string", "description": "the name of one tool"}}
  },
  "annotations": {"readOnlyHint": true}
}, {
  "name": "call_mcp",
  "description": "Calls a tool that describe_mcp lists.",
  "inputSchema": {
    "type": "object",
    "properties": {
      "tool": {"type": "string", "description": "the name of the tool"},
      "arguments": {"type": "object", "description": "what the inputSchema of the tool asks for"}
    },
    "required": ["tool"]
  }
}]`)

// dispatches tells whether the tools are shown as two that reach all.
func dispatches(offer *directory.Offer) bool { return offer.Exposure() == v1alpha1.ExposureDispatch }

// listed is the JSON array of the tools as they are shown.
func listed(offer *directory.Offer) json.RawMessage {
	if dispatches(offer) {
		return dispatchList
	}
	return offer.List()
}

// dispatch answers a description itself, and makes of a call of dispatchTool the one that it stands for. It returns
// nil where the call is to be carried.
func (c *call) dispatch() *outcome {
	if !dispatches(c.offer) || c.tool != describeTool && c.tool != dispatchTool {
		return nil
	}
	given, _ := rpc.ParseObject(c.params.Get("arguments")) // it was read as an object
	var name string
	if raw := given.Get("tool"); raw != nil && json.Unmarshal(raw, &name) != nil {
		return c.refuse("arguments.tool must be the name of a tool")
	}
	if c.tool == describeTool {
		return c.describe(name)
	}
	c.tool, c.dispatched = name, true
	c.params = c.params.With("name", object(name)).With("arguments", given.Get("arguments"))
	if fault := c.readCall(); fault != "" {
		return c.refuse(strings.ReplaceAll(fault, "params.", "arguments."))
	}
	return nil
}

func (c *call) refuse(fault string) *outcome {
	return &outcome{body: rpc.Refusal(c.ID, rpc.InvalidParams, fault), result: resultRejected}
}

// describe tells of one tool, or of all without a name.
func (c *call) describe(name string) *outcome {
	var lines []string
	for _, entry := range c.offer.Tools() {
		var tool struct{ Name, Title, Description string }
		if json.Unmarshal(entry, &tool) != nil {
			continue // not of a catalog
		}
		if tool.Name == name {
			return c.says(string(entry))
		}
		said := strings.TrimSpace(tool.Description)
		if said == "" {
			said = tool.Title
		}
		said, _, _ = strings.Cut(said, "\n")
		lines = append(lines, strings.TrimSuffix(tool.Name+": "+said, ": "))
	}
	switch slices.Sort(lines); {
	case name != "":
		return c.tells(notice{
			text:   fmt.Sprintf("There is no tool %s; %s without arguments lists them.", name, describeTool),
			result: resultRejected,
		})
	case len(lines) == 0:
		return c.says("There are no tools.")
	}
	return c.says(strings.Join(lines, "\n"))
}

// says answers with a text.
func (c *call) says(text string) *outcome {
	result := toolResult{Content: []textContent{{Type: "text", Text: text}}}
	if c.modern {
		result.ResultType = "complete"
	}
	return &outcome{body: rpc.Reply(c.ID, object(result)), result: resultOK}
}
