package upstream

import (
	"encoding/json"
	"net/http"
	"sync"

	"github.com/mooring-dev/mooring/internal/session"
	"github.com/mooring-dev/mooring/internal/upstream/rpc"
)

const headerName = "Mcp-Name"

// paramHeaders knows which arguments of which tools a server of the modern era wants to see as headers, too.
type paramHeaders struct {
	mu     sync.Mutex
	byTool map[string][]rpc.ParamHeader
}

// learn reads the annotations of a list.
func (m *paramHeaders) learn(modern bool, tools []json.RawMessage) {
	if !modern {
		return
	}
	byTool := map[string][]rpc.ParamHeader{}
	for _, raw := range tools {
		var tool struct {
			Name        string          `json:"name"`
			InputSchema json.RawMessage `json:"inputSchema"`
		}
		if json.Unmarshal(raw, &tool) != nil {
			continue
		}
		if found := rpc.ParamHeaders(tool.InputSchema); len(found) > 0 {
			byTool[tool.Name] = found
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.byTool = byTool
}

func (m *paramHeaders) has(tool string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.byTool[tool]) > 0
}

// header returns the headers of a call in the modern era: what the request names, and the arguments of a tool.
func (m *paramHeaders) header(call *session.Call, params rpc.Object) http.Header {
	h := http.Header{}
	named := "name"
	if call.Method == "resources/read" {
		named = "uri"
	}
	var name string
	if json.Unmarshal(params.Get(named), &name) == nil && name != "" {
		h.Set(headerName, rpc.EncodeHeader(name))
	}
	m.mu.Lock()
	wanted := m.byTool[call.Tool]
	m.mu.Unlock()
	for _, w := range wanted {
		if text := w.Of(params.Get("arguments")); text != "" {
			h.Set(w.Header, text)
		}
	}
	return h
}
