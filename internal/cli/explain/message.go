package explain

import "strings"

// parted takes a message apart into what happened and what to do. That it is tried again stands under Next.
func parted(message string) (what, advice string) {
	const again = "it is tried again"
	what, advice = cut(message)
	if strings.HasPrefix(advice, again) {
		return what, ""
	}
	advice, _, _ = strings.Cut(advice, "; "+again)
	return what, advice
}

// cut takes a message apart at the first "; " of our own. One in parentheses or in quotes is somebody else's, such as
// an admission policy's. Where the other's text leaves a parenthesis or a quote open, ours goes on after the last ")".
func cut(message string) (before, after string) {
	var scan scanner
	for at := range len(message) {
		if scan.ours() && strings.HasPrefix(message[at:], separator) {
			return message[:at], message[at+len(separator):]
		}
		scan.read(message[at])
	}
	if at := strings.LastIndex(message, ")"+separator); at >= 0 {
		return message[:at+1], message[at+1+len(separator):]
	}
	return message, ""
}

const separator = "; "

// scanner knows, byte by byte, whether a text is within parentheses or double quotes. A backslash in quotes takes the
// next byte as it is.
type scanner struct {
	depth           int
	quoted, escaped bool
}

func (s *scanner) ours() bool { return s.depth == 0 && !s.quoted }

func (s *scanner) read(c byte) {
	switch {
	case s.escaped:
		s.escaped = false
	case s.quoted && c == '\\':
		s.escaped = true
	case c == '"':
		s.quoted = !s.quoted
	case s.quoted:
	case c == '(':
		s.depth++
	case c == ')':
		s.depth = max(0, s.depth-1)
	}
}
