package rpc

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"
)

const (
	headerParam = "Mcp-Param-"

	encodedPrefix, encodedSuffix = "=?base64?", "?="
)

// ParamHeader is an argument that a server of the modern era wants to see as a header, too (MCP 2026-07-28, Streamable
// HTTP, Custom Headers from Tool Parameters).
type ParamHeader struct {
	path []string
	// Header is the header's name.
	Header string
}

// ParamHeaders are the annotated arguments of a tool's input schema.
func ParamHeaders(inputSchema json.RawMessage) []ParamHeader {
	var schema annotatedSchema
	if json.Unmarshal(inputSchema, &schema) != nil {
		return nil
	}
	return schema.collect(nil, nil)
}

// annotatedSchema is what matters of a schema here; a value of another shape is no annotation.
type annotatedSchema struct {
	Properties map[string]json.RawMessage `json:"properties"`
	Header     string                     `json:"x-mcp-header"`
}

func (s annotatedSchema) collect(path []string, found []ParamHeader) []ParamHeader {
	for name, raw := range s.Properties {
		var below annotatedSchema
		if len(path) > 20 || json.Unmarshal(raw, &below) != nil {
			continue
		}
		at := append(append([]string(nil), path...), name)
		if below.Header != "" && httpguts.ValidHeaderFieldName(below.Header) {
			found = append(found, ParamHeader{path: at, Header: headerParam + below.Header})
		}
		found = below.collect(at, found)
	}
	return found
}

// Of returns the value of the header for arguments, "" when they call for none.
func (p ParamHeader) Of(arguments json.RawMessage) string {
	for _, name := range p.path {
		o, err := ParseObject(arguments)
		if err != nil {
			return ""
		}
		arguments = o.Get(name)
	}
	text, ok := primitive(arguments)
	if !ok {
		return ""
	}
	return EncodeHeader(text)
}

// Mirrors tells whether the headers of a request are those that its arguments call for.
func (p ParamHeader) Mirrors(header http.Header, arguments json.RawMessage) bool {
	wanted, got := p.Of(arguments), header.Get(p.Header)
	return got == wanted || got != "" && wanted != "" && DecodeHeader(got) == DecodeHeader(wanted)
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

// EncodeHeader makes any text a header value.
func EncodeHeader(text string) string {
	padded := strings.Trim(text, " \t") != text
	strange := strings.IndexFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) >= 0
	encoded := strings.HasPrefix(text, encodedPrefix) && strings.HasSuffix(text, encodedSuffix)
	if !padded && !strange && !encoded {
		return text
	}
	return encodedPrefix + base64.StdEncoding.EncodeToString([]byte(text)) + encodedSuffix
}

// DecodeHeader reads a value that may be in the protocol's base64 form; one that only looks so stays as it is.
func DecodeHeader(value string) string {
	encoded, ok := strings.CutPrefix(value, encodedPrefix)
	encoded, whole := strings.CutSuffix(encoded, encodedSuffix)
	if !ok || !whole {
		return value
	}
	decoded, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return value
	}
	return string(decoded)
}
