package jsonc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
)

// Object is a JSON object in the order of its text. Of a key that stands twice the last value counts, at the place of
// the first. The nil Object is empty.
type Object struct {
	keys   []string
	values map[string]any
	twice  []string
}

// All are the members in order. Values are string, json.Number, bool, nil, []any or *Object.
func (o *Object) All() iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		if o == nil {
			return
		}
		for _, key := range o.keys {
			if !yield(key, o.values[key]) {
				return
			}
		}
	}
}

// Lookup returns a member.
func (o *Object) Lookup(key string) (any, bool) {
	if o == nil {
		return nil, false
	}
	value, ok := o.values[key]
	return value, ok
}

// Object returns a member that is an object, or nil.
func (o *Object) Object(key string) *Object {
	value, _ := o.Lookup(key)
	member, _ := value.(*Object)
	return member
}

// Text returns a member that is a string, or "".
func (o *Object) Text(key string) string {
	value, _ := o.Lookup(key)
	text, _ := value.(string)
	return text
}

// Array returns a member that is an array, or nil.
func (o *Object) Array(key string) []any {
	value, _ := o.Lookup(key)
	array, _ := value.([]any)
	return array
}

// Len is the number of members.
func (o *Object) Len() int {
	if o == nil {
		return 0
	}
	return len(o.keys)
}

// Twice are the keys that stood more than once.
func (o *Object) Twice() []string {
	if o == nil {
		return nil
	}
	return o.twice
}

func (o *Object) put(key string, value any) {
	if _, ok := o.values[key]; ok {
		o.twice = append(o.twice, key)
	} else {
		o.keys = append(o.keys, key)
	}
	o.values[key] = value
}

// Decode reads one value.
func Decode(text []byte) (any, error) {
	if bytes.HasPrefix(text, []byte{0xff, 0xfe}) || bytes.HasPrefix(text, []byte{0xfe, 0xff}) ||
		bytes.IndexByte(text, 0) >= 0 {
		return nil, errUTF16
	}
	strict, unclosed := plain(text)
	if unclosed >= 0 {
		return nil, at(text, unclosed, "a comment that does not end")
	}
	if len(bytes.TrimSpace(strict)) == 0 {
		return nil, errEmpty
	}
	if err := check(strict); err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(strict))
	decoder.UseNumber()
	return value(decoder)
}

// check finds what is wrong, and where: the decoder of tokens is less strict and tells less.
func check(text []byte) error {
	var whole json.RawMessage
	err := json.Unmarshal(text, &whole)
	var syntax *json.SyntaxError
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &syntax):
		return err
	case int(syntax.Offset) >= len(text):
		return at(text, len(bytes.TrimRight(text, " \t\r\n")), "unexpected end")
	}
	if first := json.NewDecoder(bytes.NewReader(text)); first.Decode(&whole) == nil {
		return errTrailing
	}
	return at(text, int(syntax.Offset)-1, "unexpected character")
}

func at(text []byte, offset int, what string) error {
	line, column := place(text, offset)
	return fmt.Errorf("no JSON: %s at line %d, column %d", what, line, column)
}

func value(decoder *json.Decoder) (any, error) {
	token, err := decoder.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('{'):
		return object(decoder)
	case json.Delim('['):
		return array(decoder)
	default:
		return token, nil
	}
}

func object(decoder *json.Decoder) (*Object, error) {
	out := &Object{values: map[string]any{}}
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		name, ok := key.(string)
		if !ok {
			return nil, io.ErrUnexpectedEOF
		}
		member, err := value(decoder)
		if err != nil {
			return nil, err
		}
		out.put(name, member)
	}
	_, err := decoder.Token()
	return out, err
}

func array(decoder *json.Decoder) ([]any, error) {
	out := []any{}
	for decoder.More() {
		item, err := value(decoder)
		if err != nil {
			return nil, err
		}
		out = append(out, item)
	}
	_, err := decoder.Token()
	return out, err
}
