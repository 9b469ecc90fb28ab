package rpc

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// maxMembers is how many members an object may have that is taken apart: each takes ten times the room of the shortest
// there is.
const maxMembers = 1 << 16

// split reads the members of an object in their order. What it returns are pieces of raw, which is not copied. False
// says that raw is no JSON object, or one of too many members.
func split(raw []byte) (Object, bool) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || raw[0] != '{' || !json.Valid(raw) {
		return nil, false
	}
	var o Object
	for rest := skipSpace(raw[1:]); rest[0] != '}'; {
		name := rest[:lengthOf(rest)]
		rest = skipSpace(rest[len(name):])
		rest = skipSpace(rest[1:]) // the colon
		value := rest[:lengthOf(rest)]
		if len(o) == maxMembers {
			return nil, false
		}
		o = append(o, Member{Name: textOf(name), Value: value[:len(value):len(value)]})
		if rest = skipSpace(rest[len(value):]); rest[0] == ',' {
			rest = skipSpace(rest[1:])
		}
	}
	return o, true
}

func skipSpace(raw []byte) []byte { return bytes.TrimLeft(raw, " \t\r\n") }

// lengthOf is how many bytes the value takes that valid JSON begins with.
func lengthOf(raw []byte) int {
	switch raw[0] {
	case '"':
		return textLength(raw)
	case '{', '[':
	default:
		if end := bytes.IndexAny(raw, ",]} \t\r\n"); end >= 0 {
			return end
		}
		return len(raw)
	}
	for i, depth := 0, 0; ; {
		switch raw[i] {
		case '"':
			i += textLength(raw[i:])
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		if i++; depth == 0 {
			return i
		}
	}
}

// textLength is how many bytes the string takes that valid JSON begins with.
func textLength(raw []byte) int {
	for end := 1; ; end++ {
		end += bytes.IndexByte(raw[end:], '"')
		escapes := 0
		for raw[end-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return end + 1
		}
	}
}

// textOf decodes a string of valid JSON.
func textOf(raw []byte) (text string) {
	if inner := raw[1 : len(raw)-1]; bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		return string(inner)
	}
	_ = json.Unmarshal(raw, &text) // valid JSON decodes
	return text
}

// appendText encodes a string.
func appendText(out []byte, text string) []byte {
	for i := range len(text) {
		if b := text[i]; b < ' ' || b > '~' || b == '"' || b == '\\' || b == '<' || b == '>' || b == '&' {
			encoded, _ := json.Marshal(text) // never fails: invalid UTF-8 is replaced
			return append(out, encoded...)
		}
	}
	return append(append(append(out, '"'), text...), '"')
}
