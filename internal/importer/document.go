package importer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/tailscale/hujson"
)

// object is a JSON object in the order of its text. Of a duplicate key the last value counts, at the place of the
// first. The nil object is empty.
type object struct {
	keys     []string
	values   map[string]any
	repeated []string
}

// all are the members in order. Values are string, json.Number, bool, nil, []any or *object.
func (o *object) all() iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		for i := range o.len() {
			if !yield(o.keys[i], o.values[o.keys[i]]) {
				return
			}
		}
	}
}

func (o *object) lookup(key string) (any, bool) {
	if o == nil {
		return nil, false
	}
	value, ok := o.values[key]
	return value, ok
}

func (o *object) len() int {
	if o == nil {
		return 0
	}
	return len(o.keys)
}

// duplicates are the keys that occur more than once.
func (o *object) duplicates() []string {
	if o == nil {
		return nil
	}
	return o.repeated
}

// member returns a member of a type, or that type's zero value.
func member[T any](o *object, key string) T {
	value, _ := o.lookup(key)
	typed, _ := value.(T)
	return typed
}

func (o *object) object(key string) *object { return member[*object](o, key) }
func (o *object) text(key string) string    { return member[string](o, key) }
func (o *object) array(key string) []any    { return member[[]any](o, key) }

var (
	errEmpty = errors.New("no JSON: the text is empty")
	errUTF16 = errors.New("no JSON in UTF-8: the text looks like UTF-16, save it as UTF-8")
	errDeep  = errors.New("no JSON that can be read: it has too many brackets")
)

// decode reads one JSON value as editors write it: with a byte order mark, comments and trailing commas. Errors give
// the line and the column, and never quote the text: it may hold credentials.
func decode(text []byte) (any, error) {
	const mostBrackets = 1 << 18 // the parser nests as deep as the text does
	text = bytes.TrimRight(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")), " \t\r\n")
	switch {
	case bytes.IndexByte(text, 0) >= 0:
		return nil, errUTF16
	case bytes.Count(text, []byte("["))+bytes.Count(text, []byte("{")) > mostBrackets:
		return nil, errDeep
	}
	parsed, err := hujson.Parse(append(bytes.Clone(text), '\n'))
	if err != nil {
		return nil, syntaxError(text, parsed, err)
	}
	return valueOf(parsed), nil
}

// syntaxError says where the text is wrong. The parser tells it in the beginning of its message alone, and quotes the
// text behind that.
func syntaxError(text []byte, parsed hujson.Value, err error) error {
	var line, column int
	if _, err := fmt.Sscanf(err.Error(), "hujson: line %d, column %d:", &line, &column); err != nil {
		return errors.New("no JSON")
	}
	what := "unexpected character"
	lines := bytes.Count(text, []byte("\n")) + 1
	switch unfinished := errors.Is(err, io.ErrUnexpectedEOF); {
	case unfinished && line <= lines:
		what = "a comment that does not end"
	case unfinished && parsed.StartOffset > len(text):
		return errEmpty
	case unfinished:
		what, line, column = "unexpected end", lines, len(text)-bytes.LastIndexByte(text, '\n')
	case parsed.EndOffset > 0:
		return errors.New("no single JSON value: text follows the first one")
	}
	return fmt.Errorf("no JSON: %s at line %d, column %d", what, line, column)
}

func valueOf(parsed hujson.Value) any {
	switch v := parsed.Value.(type) {
	case *hujson.Object:
		return objectOf(v)
	case *hujson.Array:
		out := make([]any, len(v.Elements))
		for i, element := range v.Elements {
			out[i] = valueOf(element)
		}
		return out
	case hujson.Literal:
		switch v.Kind() {
		case '"':
			return v.String()
		case '0':
			return json.Number(v)
		case 't', 'f':
			return v.Bool()
		}
	}
	return nil
}

func objectOf(parsed *hujson.Object) *object {
	out := &object{values: map[string]any{}}
	for _, m := range parsed.Members {
		key := fmt.Sprint(m.Name.Value)
		if _, ok := out.values[key]; ok {
			out.repeated = append(out.repeated, key)
		} else {
			out.keys = append(out.keys, key)
		}
		out.values[key] = valueOf(m.Value)
	}
	return out
}
