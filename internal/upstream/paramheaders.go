package upstream

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/net/http/httpguts"

	"github.com/mooring-dev/mooring/internal/upstream/rpc"
)

const (
	headerName  = "Mcp-Name"
	headerParam = "Mcp-Param-"

	encodedPrefix, encodedSuffix = "=?base64?", "?="
)

// paramHeaders knows which arguments of which tools a server of the modern era wants to see as headers, too (MCP
// 2026-07-28, Streamable HTTP, Custom Headers from Tool Parameters).
type paramHeaders struct {
	mu     sync.Mutex
	byTool map[string][]paramHeader
}

// paramHeader is one annotated argument.
type paramHeader struct {
	path   []string
	header string
}

// learn reads the annotations of a list.
func (m *paramHeaders) learn(modern bool, tools []json.RawMessage) {
	if !modern {
		return
	}
	byTool := map[string][]paramHeader{}
	for _, raw := range tools {
		var tool struct {
			Name        string          `json:"name"`
			InputSchema annotatedSchema `json:"inputSchema"`
		}
		if json.Unmarshal(raw, &tool) != nil {
			continue
		}
		if found := tool.InputSchema.collect(nil, nil); len(found) > 0 {
			byTool[tool.Name] = found
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.byTool = byTool
}

// annotatedSchema is what matters of a schema here; a value of another shape is no annotation.
type annotatedSchema struct {
	Properties map[string]json.RawMessage `json:"properties"`
	Header     string                     `json:"x-mcp-header"`
}

func (s annotatedSchema) collect(path []string, found []paramHeader) []paramHeader {
	for name, raw := range s.Properties {
		var below annotatedSchema
		if len(path) > 20 || json.Unmarshal(raw, &below) != nil {
			continue
		}
		at := append(append([]string(nil), path...), name)
		if below.Header != "" && httpguts.ValidHeaderFieldName(below.Header) {
			found = append(found, paramHeader{path: at, header: headerParam + below.Header})
		}
		found = below.collect(at, found)
	}
	return found
}

func (m *paramHeaders) has(tool string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.byTool[tool]) > 0
}

// header returns the headers of a call in the modern era.
func (m *paramHeaders) header(tool string, params rpc.Object) http.Header {
	h := http.Header{}
	var name string
	if json.Unmarshal(params.Get("name"), &name) == nil && name != "" {
		h.Set(headerName, encodeHeader(name))
	}
	m.mu.Lock()
	wanted := m.byTool[tool]
	m.mu.Unlock()
	for _, w := range wanted {
		if text, ok := primitive(argument(params.Get("arguments"), w.path)); ok {
			h.Set(w.header, encodeHeader(text))
		}
	}
	return h
}

func argument(raw json.RawMessage, path []string) json.RawMessage {
	for _, name := range path {
		o, err := rpc.ParseObject(raw)
		if err != nil {
			return nil
		}
		raw = o.Get(name)
	}
	return raw
}

// primitive is the text of a string, integer or boolean; nothing else may be mirrored.
func primitive(raw json.RawMessage) (string, bool) {
	var value any
	if len(raw) == 0 || json.Unmarshal(raw, &value) != nil {
		return "", false
	}
	switch v := value.(type) {
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	case float64:
		const safe = 1<<53 - 1
		if v != float64(int64(v)) || v < -safe || v > safe {
			return "", false
		}
		return strconv.FormatInt(int64(v), 10), true
	}
	return "", false
}

// encodeHeader makes any text a header value.
func encodeHeader(text string) string {
	padded := strings.Trim(text, " \t") != text
	strange := strings.IndexFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) >= 0
	encoded := strings.HasPrefix(text, encodedPrefix) && strings.HasSuffix(text, encodedSuffix)
	if !padded && !strange && !encoded {
		return text
	}
	return encodedPrefix + base64.StdEncoding.EncodeToString([]byte(text)) + encodedSuffix
}
