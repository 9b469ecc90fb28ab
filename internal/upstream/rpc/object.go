package rpc

import (
	"bytes"
	"encoding/json"
	"slices"
)

// Member is one member of a JSON object, its value as it came.
type Member struct {
	Name  string
	Value json.RawMessage
}

// Object is a JSON object whose order and bytes are kept.
type Object []Member

// ParseObject reads an object, of which its members are pieces. Nil, or null, is the empty object.
func ParseObject(raw json.RawMessage) (Object, error) {
	if raw = present(bytes.TrimSpace(raw)); len(raw) == 0 {
		return nil, nil
	}
	o, ok := split(raw)
	if !ok {
		return nil, ErrMalformed
	}
	return o, nil
}

// Get returns the value of a member, nil when absent. Of repeated members the last counts, as in encoding/json.
func (o Object) Get(name string) json.RawMessage {
	for i := len(o) - 1; i >= 0; i-- {
		if o[i].Name == name {
			return o[i].Value
		}
	}
	return nil
}

// With returns the object with one member set, at its place or at the end.
func (o Object) With(name string, value json.RawMessage) Object {
	out := make(Object, 0, len(o)+1)
	set := false
	for _, m := range o {
		if m.Name == name {
			if set {
				continue
			}
			m.Value, set = value, true
		}
		out = append(out, m)
	}
	if !set {
		out = append(out, Member{Name: name, Value: value})
	}
	return out
}

// Without returns the object without a member.
func (o Object) Without(name string) Object {
	if o.Get(name) == nil {
		return o
	}
	return slices.DeleteFunc(slices.Clone(o), func(m Member) bool { return m.Name == name })
}

// Encode writes the object.
func (o Object) Encode() json.RawMessage {
	size := 2
	for _, m := range o {
		size += len(m.Name) + len(m.Value) + len(`"":,`)
	}
	out := append(make([]byte, 0, size), '{')
	for i, m := range o {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(appendText(out, m.Name), ':')
		out = append(out, m.Value...)
	}
	return append(out, '}')
}
