package jsonc

import (
	"bytes"
	"errors"
)

var byteOrderMark = []byte("\xef\xbb\xbf")

// plain returns the text with blanks in place of a byte order mark, comments and trailing commas, so that every offset
// stays what it was. It returns the offset of a comment that does not end, or -1.
func plain(text []byte) (out []byte, unclosed int) {
	out = bytes.Clone(text)
	if bytes.HasPrefix(out, byteOrderMark) {
		blank(out[:len(byteOrderMark)])
	}
	comma := -1 // the offset of a comma that nothing but blanks and comments has followed
	for i := 0; i < len(out); {
		end, found := commentEnd(out, i)
		switch {
		case found && end < 0:
			return out, i
		case found:
			blank(out[i:end])
			i = end
			continue
		}
		switch out[i] {
		case '"':
			i, comma = stringEnd(out, i), -1
			continue
		case ',':
			comma = i
		case '}', ']':
			if comma >= 0 {
				out[comma] = ' '
			}
			comma = -1
		case ' ', '\t', '\r', '\n':
		default:
			comma = -1
		}
		i++
	}
	return out, -1
}

// commentEnd returns the offset behind the comment that begins at i, -1 if it does not end.
func commentEnd(text []byte, i int) (end int, found bool) {
	switch rest := text[i:]; {
	case bytes.HasPrefix(rest, []byte("//")):
		if n := bytes.IndexByte(rest, '\n'); n >= 0 {
			return i + n, true
		}
		return len(text), true
	case bytes.HasPrefix(rest, []byte("/*")):
		n := bytes.Index(rest[2:], []byte("*/"))
		if n < 0 {
			return -1, true
		}
		return i + n + 4, true
	default:
		return 0, false
	}
}

// stringEnd returns the offset behind the string that begins at i.
func stringEnd(text []byte, i int) int {
	for i++; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

func blank(text []byte) {
	for i, c := range text {
		if c != '\n' && c != '\r' {
			text[i] = ' '
		}
	}
}

// place tells the line and the column of an offset, both from 1. Columns count bytes.
func place(text []byte, offset int) (line, column int) {
	before := text[:min(max(offset, 0), len(text))]
	return bytes.Count(before, []byte("\n")) + 1, len(before) - bytes.LastIndexByte(before, '\n')
}

var (
	errEmpty    = errors.New("no JSON: the text is empty")
	errUTF16    = errors.New("no JSON in UTF-8: the text looks like UTF-16, save it as UTF-8")
	errTrailing = errors.New("no single JSON value: text follows the first one")
)
