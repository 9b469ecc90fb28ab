package jsontree

import (
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// escaped reads a string that starts at start and holds escapes or bytes that are not UTF-8.
func (p *Parser) escaped(start int) (string, error) {
	var buf []byte
	for p.pos = start; p.pos < len(p.src); {
		switch c := p.src[p.pos]; {
		case c == '"':
			p.pos++
			return string(buf), nil
		case c == '\\':
			r, ok := p.escape()
			if !ok {
				return "", p.syntax()
			}
			buf = utf8.AppendRune(buf, r)
		case c < ' ':
			return "", p.syntax()
		default:
			r, size := utf8.DecodeRuneInString(p.src[p.pos:])
			if r == utf8.RuneError && size == 1 {
				p.repaired++
			}
			buf = utf8.AppendRune(buf, r)
			p.pos += size
		}
	}
	return "", p.syntax()
}

// shortEscapes are the escapes of two bytes by their second; the rest of the table is 0.
var shortEscapes = [256]rune{
	'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t',
}

// escape reads one escape, or two where they are the halves of one character.
func (p *Parser) escape() (rune, bool) {
	if p.pos+1 >= len(p.src) {
		return 0, false
	}
	c := p.src[p.pos+1]
	if c == 'u' {
		return p.unicode()
	}
	r := shortEscapes[c]
	p.pos += 2
	return r, r != 0
}

func (p *Parser) unicode() (rune, bool) {
	r, ok := p.hex(p.pos)
	if !ok {
		return 0, false
	}
	p.pos += len(`\uXXXX`)
	if !utf16.IsSurrogate(r) {
		return r, true
	}
	if low, ok := p.hex(p.pos); ok {
		if whole := utf16.DecodeRune(r, low); whole != utf8.RuneError {
			p.pos += len(`\uXXXX`)
			return whole, true
		}
	}
	p.repaired++
	return utf8.RuneError, true
}

// hex reads the code unit of the escape \uXXXX at byte at.
func (p *Parser) hex(at int) (rune, bool) {
	if at+6 > len(p.src) || p.src[at:at+2] != `\u` {
		return 0, false
	}
	n, err := strconv.ParseUint(p.src[at+2:at+6], 16, 16)
	return rune(n), err == nil
}

// Append writes n in canonical form: no white space, keys in order, only the escapes that JSON demands.
func (n *Node) Append(dst []byte) []byte {
	switch n.Kind {
	case String:
		return AppendText(dst, n.Text)
	case Number, Bool:
		return append(dst, n.Text...)
	case Array:
		return appendMembers(dst, n, '[', ']')
	case Object:
		return appendMembers(dst, n, '{', '}')
	default:
		return append(dst, "null"...)
	}
}

func appendMembers(dst []byte, n *Node, begin, end byte) []byte {
	dst = append(dst, begin)
	for i := range n.Members {
		if i > 0 {
			dst = append(dst, ',')
		}
		if n.Kind == Object {
			dst = append(AppendText(dst, n.Members[i].Key), ':')
		}
		dst = n.Members[i].Append(dst)
	}
	return append(dst, end)
}

// AppendText writes s as a JSON string with the escapes of RFC 8785 section 3.2.2.2. It must be valid UTF-8.
func AppendText(dst []byte, s string) []byte {
	dst = append(dst, '"')
	done := 0
	for i := range len(s) {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		dst = appendEscape(append(dst, s[done:i]...), c)
		done = i + 1
	}
	return append(append(dst, s[done:]...), '"')
}

func appendEscape(dst []byte, c byte) []byte {
	const digits = "0123456789abcdef"
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\b':
		return append(dst, `\b`...)
	case '\t':
		return append(dst, `\t`...)
	case '\n':
		return append(dst, `\n`...)
	case '\f':
		return append(dst, `\f`...)
	case '\r':
		return append(dst, `\r`...)
	default:
		return append(dst, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
	}
}
