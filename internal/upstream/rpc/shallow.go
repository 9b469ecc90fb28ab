package rpc

import (
	"bytes"
	"encoding/json"
)

// maxLevels is how deep what shallow returns nests: less than encoding/json reads (10,000), and so much deeper than
// anything of use that who looks into it finds it too deep.
const maxLevels = 1000

// ParseList is Parse for the answer to a list, which is worth having without what nests deeper in it than can be read:
// of a tool that nests so deep as much is left as shows that it does.
func ParseList(body []byte) ([]Message, error) {
	messages, err := Parse(body)
	if err != nil {
		return Parse(shallow(body))
	}
	return messages, nil
}

// shallow returns a JSON text with null in the place of every object and array that nests deeper than 1000 levels. What
// is left out is not checked, but for its strings and brackets; all else is as it was, valid or not.
func shallow(body []byte) []byte {
	out := make([]byte, 0, len(body))
	var (
		in    quoting
		depth int
	)
	for _, b := range body {
		step := in.step(b)
		depth += max(step, 0)
		if step > 0 && depth == maxLevels+1 {
			out = append(out, "null"...)
		}
		if depth <= maxLevels {
			out = append(out, b)
		}
		depth += min(step, 0)
	}
	return out
}

// quoting tells brackets from the content of strings.
type quoting struct{ text, escaped bool }

// step returns 1 for a bracket that opens, -1 for one that closes, and 0 for all else.
func (q *quoting) step(b byte) int {
	switch {
	case q.escaped:
		q.escaped = false
	case q.text:
		q.escaped, q.text = b == '\\', b != '"'
	case b == '"':
		q.text = true
	case b == '{', b == '[':
		return 1
	case b == '}', b == ']':
		return -1
	}
	return 0
}

// LeadingID returns the string id of a message whose beginning alone can be read, false where that does not tell:
// the id comes behind what cannot be read, or it is a request.
func LeadingID(head []byte) (string, bool) {
	dec := json.NewDecoder(bytes.NewReader(head))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return "", false
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil || name == "method" {
			return "", false
		}
		var value any
		if dec.Decode(&value) != nil {
			return "", false
		}
		if id, ok := value.(string); ok && name == "id" {
			return id, true
		}
	}
	return "", false
}
