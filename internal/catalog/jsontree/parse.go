package jsontree

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// MaxDepth is how deep arrays and objects may nest in each other.
const MaxDepth = 256

// ErrDepth is returned for input that nests too deep.
var ErrDepth = errors.New("nested too deeply")

// ErrSyntax is wrapped by the error for input that is not one JSON value.
var ErrSyntax = errors.New("invalid JSON")

// Parser reads JSON texts one after the other. The zero Parser is ready; it is not safe for concurrent use.
type Parser struct {
	// Room is how many levels beyond MaxDepth are read: for documents that wrap what was read at MaxDepth.
	Room int

	src      string
	pos      int
	depth    int
	repaired int
	stack    []Member // members of containers that are still open
	chunk    []Member // where finished containers' members are kept
	slab     []Member // the free end of chunk
}

// Parse reads one JSON value. It also returns how many characters were not valid Unicode and became U+FFFD.
// Errors are ErrDepth, or wrap ErrSyntax and name the byte.
func (p *Parser) Parse(raw []byte) (root Node, repaired int, err error) {
	p.src, p.pos, p.depth, p.repaired, p.stack = string(raw), 0, 0, 0, p.stack[:0]
	root, err = p.value()
	if err != nil {
		return Node{}, 0, err
	}
	p.space()
	if p.pos != len(p.src) {
		return Node{}, 0, p.syntax()
	}
	return root, p.repaired, nil
}

func (p *Parser) syntax() error { return fmt.Errorf("%w at byte %d", ErrSyntax, p.pos) }

func (p *Parser) space() {
	for p.pos < len(p.src) {
		switch p.src[p.pos] {
		case ' ', '\t', '\n', '\r':
			p.pos++
		default:
			return
		}
	}
}

// next returns the first byte that is not white space without consuming it, 0 at the end.
func (p *Parser) next() byte {
	p.space()
	if p.pos == len(p.src) {
		return 0
	}
	return p.src[p.pos]
}

func (p *Parser) value() (Node, error) {
	switch p.next() {
	case '{':
		return p.container(Object, '}')
	case '[':
		return p.container(Array, ']')
	case '"':
		text, err := p.text()
		return Node{Kind: String, Text: text}, err
	case 't':
		return p.literal("true", Node{Kind: Bool, Text: "true"})
	case 'f':
		return p.literal("false", Node{Kind: Bool, Text: "false"})
	case 'n':
		return p.literal("null", Node{})
	default:
		return p.number()
	}
}

func (p *Parser) literal(word string, n Node) (Node, error) {
	if !strings.HasPrefix(p.src[p.pos:], word) {
		return Node{}, p.syntax()
	}
	p.pos += len(word)
	return n, nil
}

func (p *Parser) container(kind Kind, end byte) (Node, error) {
	if p.depth++; p.depth > MaxDepth+p.Room {
		return Node{}, ErrDepth
	}
	p.pos++
	base := len(p.stack)
	for c := p.next(); c != end; c = p.next() {
		if len(p.stack) > base {
			if c != ',' {
				return Node{}, p.syntax()
			}
			p.pos++
		}
		member, err := p.member(kind)
		if err != nil {
			return Node{}, err
		}
		p.stack = append(p.stack, member)
	}
	p.pos++
	p.depth--
	members := p.cut(p.stack[base:])
	p.stack = p.stack[:base]
	if kind == Object {
		members = normalise(members)
	}
	return Node{Kind: kind, Members: members}, nil
}

func (p *Parser) member(kind Kind) (m Member, err error) {
	if kind == Object {
		if p.next() != '"' {
			return m, p.syntax()
		}
		if m.Key, err = p.text(); err != nil {
			return m, err
		}
		if p.next() != ':' {
			return m, p.syntax()
		}
		p.pos++
	}
	m.Node, err = p.value()
	return m, err
}

// Recycle lets the next Parse use the memory of the trees read so far, which must not be used any more.
func (p *Parser) Recycle() { p.slab = p.chunk }

// cut copies members to memory of their own, taken from a chunk to save allocations.
func (p *Parser) cut(members []Member) []Member {
	const least, most = 64, 4096
	if len(p.slab) < len(members) {
		p.chunk = make([]Member, max(least, len(members), min(most, 2*len(p.chunk))))
		p.slab = p.chunk
	}
	n := copy(p.slab, members)
	own := p.slab[:n:n]
	p.slab = p.slab[n:]
	return own
}

// normalise sorts members and keeps the last of each key.
func normalise(members []Member) []Member {
	byKey := func(a, b Member) int { return CompareKeys(a.Key, b.Key) }
	if !slices.IsSortedFunc(members, byKey) {
		slices.SortStableFunc(members, byKey)
	}
	kept := members[:0]
	for i, m := range members {
		if i+1 == len(members) || members[i+1].Key != m.Key {
			kept = append(kept, m)
		}
	}
	return kept
}

func (p *Parser) number() (Node, error) {
	start := p.pos
	p.accept("-")
	if !p.accept("0") && !p.digits() {
		return Node{}, p.syntax()
	}
	if p.accept(".") && !p.digits() {
		return Node{}, p.syntax()
	}
	if p.accept("eE") {
		p.accept("+-")
		if !p.digits() {
			return Node{}, p.syntax()
		}
	}
	return Node{Kind: Number, Text: p.src[start:p.pos]}, nil
}

// accept consumes one byte of set.
func (p *Parser) accept(set string) bool {
	if p.pos < len(p.src) && strings.IndexByte(set, p.src[p.pos]) >= 0 {
		p.pos++
		return true
	}
	return false
}

// digits consumes decimal digits and reports whether there was one.
func (p *Parser) digits() bool {
	start := p.pos
	for p.pos < len(p.src) && p.src[p.pos]-'0' <= 9 {
		p.pos++
	}
	return p.pos > start
}

// text reads a string. One without escapes is a part of the source and costs nothing.
func (p *Parser) text() (string, error) {
	start := p.pos + 1
	ascii := true
	for i := start; i < len(p.src); i++ {
		switch c := p.src[i]; {
		case c == '"':
			content := p.src[start:i]
			if !ascii && !utf8.ValidString(content) {
				return p.escaped(start)
			}
			p.pos = i + 1
			return content, nil
		case c == '\\':
			return p.escaped(start)
		case c < ' ':
			p.pos = i
			return "", p.syntax()
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	p.pos = len(p.src)
	return "", p.syntax()
}
