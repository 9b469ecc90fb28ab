package jsontree

import "slices"

// Kind says what a Node is.
type Kind uint8

// The kinds. The zero Node is null.
const (
	Null Kind = iota
	Bool
	Number
	String
	Array
	Object
)

// Node is one JSON value.
type Node struct {
	Kind Kind
	// Text is a String's content, a Number's digits as sent, or "true" or "false".
	Text string
	// Members are an Object's members, sorted by CompareKeys and unique, or an Array's items with empty keys.
	Members []Member
}

// Member is one entry of an Object or Array.
type Member struct {
	Key string
	Node
}

// Text returns a String node.
func Text(s string) Node { return Node{Kind: String, Text: s} }

// Get returns the member of an Object under key, nil when there is none or n is no Object. The pointer is good for
// changes until the next Set or Delete on n.
func (n *Node) Get(key string) *Node {
	if n.Kind != Object {
		return nil
	}
	for i := range n.Members {
		if n.Members[i].Key == key {
			return &n.Members[i].Node
		}
	}
	return nil
}

// Set puts value under key of an Object.
func (n *Node) Set(key string, value Node) {
	if old := n.Get(key); old != nil {
		*old = value
		return
	}
	at, _ := slices.BinarySearchFunc(n.Members, key, func(m Member, key string) int { return CompareKeys(m.Key, key) })
	// Members may be a part of a slab that goes on behind it.
	n.Members = slices.Insert(slices.Clip(n.Members), at, Member{Key: key, Node: value})
}

// Delete removes key from an Object.
func (n *Node) Delete(key string) {
	for i := range n.Members {
		if n.Members[i].Key == key {
			n.Members = slices.Delete(n.Members, i, i+1)
			return
		}
	}
}

// IsText reports whether n is a String of exactly this content. A nil Node is not.
func (n *Node) IsText(s string) bool { return n != nil && n.Kind == String && n.Text == s }

// CompareKeys orders keys by their UTF-16 code units (RFC 8785 section 3.2.3). Both must be valid UTF-8.
func CompareKeys(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		x, y := a[i], b[i]
		if x == y {
			continue
		}
		// UTF-8 sorts by code point. UTF-16 differs only in that surrogates (lead bytes from 0xF0) stand before
		// U+E000 to U+FFFF (lead bytes 0xEE and 0xEF).
		if x >= 0xEE && y >= 0xEE && (x >= 0xF0) != (y >= 0xF0) {
			x, y = y, x
		}
		return int(x) - int(y)
	}
	return len(a) - len(b)
}
