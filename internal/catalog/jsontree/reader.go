package jsontree

import "strconv"

// Reader reads members of expected kinds from objects. Where one is missing or of another kind it returns the zero
// value and sets Bad, so that a whole document is read first and judged once. Keys are told apart by case.
type Reader struct{ Bad bool }

// Text returns a member that must be a String.
func (r *Reader) Text(object *Node, key string) string {
	if m := object.Get(key); m != nil && m.Kind == String {
		return m.Text
	}
	r.Bad = true
	return ""
}

// OptionalText returns a member that must be a String if it is there.
func (r *Reader) OptionalText(object *Node, key string) string {
	if object.Get(key) == nil {
		return ""
	}
	return r.Text(object, key)
}

// Int returns a member that must be a whole Number.
func (r *Reader) Int(object *Node, key string) int {
	if m := object.Get(key); m != nil && m.Kind == Number {
		if n, err := strconv.Atoi(m.Text); err == nil {
			return n
		}
	}
	r.Bad = true
	return 0
}

// Items returns the items of a member that must be an Array.
func (r *Reader) Items(object *Node, key string) []Member {
	if m := object.Get(key); m != nil && m.Kind == Array {
		return m.Members
	}
	r.Bad = true
	return nil
}

// Object returns a member that must be an Object; an empty one where it is not.
func (r *Reader) Object(object *Node, key string) *Node {
	if m := object.Get(key); m != nil && m.Kind == Object {
		return m
	}
	r.Bad = true
	return &Node{Kind: Object}
}
