package rpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
)

// Codes of JSON-RPC and MCP that Mooring acts upon.
const (
	InvalidRequest     = -32600
	MethodNotFound     = -32601
	InvalidParams      = -32602
	HeaderMismatch     = -32020
	MissingCapability  = -32021
	UnsupportedVersion = -32022
)

// ErrMalformed says that bytes are not a JSON-RPC message, or none that makes sense.
var ErrMalformed = errors.New("not a JSON-RPC message")

// Message is one request, notification or response.
type Message struct {
	// ID is nil when the member is absent or null.
	ID     json.RawMessage
	Method string
	Params json.RawMessage
	// Result and Error are nil when absent; Result is "null" when it is null.
	Result, Error json.RawMessage
}

// IsResponse reports whether the message answers a request.
func (m *Message) IsResponse() bool { return m.Method == "" }

// IsRequest reports whether the message wants an answer.
func (m *Message) IsRequest() bool { return m.Method != "" && m.ID != nil }

// Answers reports whether the message is the response to the request with this string id.
func (m *Message) Answers(id string) bool {
	if !m.IsResponse() || m.ID == nil {
		return false
	}
	if inner, quoted := bytes.CutPrefix(m.ID, []byte{'"'}); quoted && string(bytes.TrimSuffix(inner, []byte{'"'})) == id {
		return true
	}
	var got string
	return json.Unmarshal(m.ID, &got) == nil && got == id
}

// Fault is a JSON-RPC error object.
type Fault struct {
	Code    int64           `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
}

// Fault returns the error of a response, and whether there is a well-formed one.
func (m *Message) Fault() (Fault, bool) {
	if m.Error == nil {
		return Fault{}, false
	}
	var wire struct {
		Code    *int64          `json:"code"`
		Message json.RawMessage `json:"message"`
		Data    json.RawMessage `json:"data"`
	}
	if json.Unmarshal(m.Error, &wire) != nil || wire.Code == nil {
		return Fault{}, false
	}
	fault := Fault{Code: *wire.Code, Data: wire.Data}
	_ = json.Unmarshal(wire.Message, &fault.Message) // a message that is no text is none
	return fault, true
}

// Parse reads one message, or the messages of a batch.
func Parse(body []byte) ([]Message, error) {
	body = bytes.TrimSpace(body)
	if len(body) == 0 || body[0] != '[' {
		m, err := parseOne(body)
		if err != nil {
			return nil, err
		}
		return []Message{m}, nil
	}
	var batch []json.RawMessage
	if json.Unmarshal(body, &batch) != nil || len(batch) == 0 {
		return nil, ErrMalformed
	}
	messages := make([]Message, 0, len(batch))
	for _, raw := range batch {
		m, err := parseOne(raw)
		if err != nil {
			return nil, err
		}
		messages = append(messages, m)
	}
	return messages, nil
}

func parseOne(body []byte) (Message, error) {
	members, ok := split(body)
	if !ok {
		return Message{}, ErrMalformed
	}
	m := Message{
		ID: present(members.Get("id")), Params: present(members.Get("params")),
		Result: members.Get("result"), Error: present(members.Get("error")),
	}
	if raw := members.Get("method"); raw != nil {
		if json.Unmarshal(raw, &m.Method) != nil || m.Method == "" {
			return Message{}, ErrMalformed
		}
	}
	if m.Method == "" && m.Result == nil && m.Error == nil {
		return Message{}, ErrMalformed
	}
	return m, nil
}

// present makes an explicit null the same as absence.
func present(raw json.RawMessage) json.RawMessage {
	if string(raw) == "null" {
		return nil
	}
	return raw
}

// Request encodes a request. params is an encoded object, or nil.
func Request(id, method string, params json.RawMessage) []byte {
	return encode(strconv.AppendQuote(nil, id), method, "params", params)
}

// Notification encodes a notification. params is an encoded object, or nil.
func Notification(method string, params json.RawMessage) []byte {
	return encode(nil, method, "params", params)
}

// Reply encodes a result for the request with the encoded id.
func Reply(id, result json.RawMessage) []byte { return encode(id, "", "result", result) }

// Fail encodes an encoded error for the request with the encoded id.
func Fail(id, fault json.RawMessage) []byte { return encode(id, "", "error", fault) }

// Refusal encodes an error for the request with the encoded id.
func Refusal(id json.RawMessage, code int64, message string) []byte {
	fault := append([]byte(`{"code":`), strconv.AppendInt(nil, code, 10)...)
	fault = append(fault, `,"message":`...)
	fault = append(appendText(fault, message), '}')
	return encode(id, "", "error", fault)
}

func encode(id json.RawMessage, method, member string, value json.RawMessage) []byte {
	out := make([]byte, 0, 64+len(method)+len(value))
	out = append(out, `{"jsonrpc":"2.0"`...)
	if id != nil {
		out = append(append(out, `,"id":`...), id...)
	}
	if method != "" {
		out = appendText(append(out, `,"method":`...), method)
	}
	if value != nil {
		out = append(append(out, `,"`...), member...)
		out = append(append(out, `":`...), value...)
	}
	return append(out, '}')
}
