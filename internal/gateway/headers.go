package gateway

import (
	"bytes"
	"encoding/json"

	"github.com/mooring-dev/mooring/internal/upstream/rpc"
)

// checkHeaders returns how the headers of a request of the stateless protocol differ from its body, empty where they
// do not (MCP 2026-07-28, Transports, Standard Headers). The SDK does that for what it answers.
func checkHeaders(m *message) string {
	if !m.modern {
		return ""
	}
	var params struct {
		Name *string `json:"name"`
		URI  *string `json:"uri"`
		Meta struct {
			Version string `json:"io.modelcontextprotocol/protocolVersion"`
		} `json:"_meta"`
	}
	_ = json.Unmarshal(m.Params, &params) // what is no object names nothing
	name := params.Name
	if m.Message.Method == "resources/read" {
		name = params.URI
	}
	switch {
	case m.Header.Get("Mcp-Method") != m.Message.Method:
		return "the header Mcp-Method does not name the method"
	case m.Header.Get("Mcp-Protocol-Version") != params.Meta.Version:
		return "the header Mcp-Protocol-Version is not the version that _meta names"
	case name != nil && rpc.DecodeHeader(m.Header.Get("Mcp-Name")) != *name:
		return "the header Mcp-Name does not name what params name"
	}
	return ""
}

// checkParamHeaders does the same for the arguments that the tool wants to see as headers.
func checkParamHeaders(c *call, definition json.RawMessage) string {
	if !c.modern || !bytes.Contains(definition, []byte("x-mcp-header")) {
		return ""
	}
	var tool struct {
		InputSchema json.RawMessage `json:"inputSchema"`
	}
	_ = json.Unmarshal(definition, &tool) // it was parsed before
	for _, param := range rpc.ParamHeaders(tool.InputSchema) {
		if !param.Mirrors(c.Header, c.params.Get("arguments")) {
			return "the header " + param.Header + " does not have the value of its argument"
		}
	}
	return ""
}
