package gateway

import (
	"encoding/base64"
	"encoding/json"
	"strings"
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
	case name != nil && decodeHeader(m.Header.Get("Mcp-Name")) != *name:
		return "the header Mcp-Name does not name what params name"
	}
	return ""
}

// decodeHeader reads a value that may be in the protocol's base64 form.
func decodeHeader(value string) string {
	encoded, ok := strings.CutPrefix(value, "=?base64?")
	encoded, whole := strings.CutSuffix(encoded, "?=")
	if !ok || !whole {
		return value
	}
	decoded, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return value
	}
	return string(decoded)
}
