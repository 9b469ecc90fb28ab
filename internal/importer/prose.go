package importer

import (
	"strings"

	"github.com/mooring-dev/mooring/internal/importer/credential"
	"github.com/mooring-dev/mooring/internal/text"
)

// line makes one printable line of a text that a person wrote, of at most so many characters; none of one that may hold
// a credential.
func line(prose string, most int) string {
	if credential.InProse(prose) {
		return ""
	}
	return text.Line(prose, most)
}

// question is what a person is asked with; nothing if it gives away what is proposed for an answer.
func question(asked string, proposed ...string) string {
	lower := strings.ToLower(asked)
	for _, answer := range proposed {
		answer = strings.ToLower(strings.TrimSpace(answer))
		if answer != "" && strings.Contains(lower, answer) {
			return ""
		}
	}
	return line(asked, mostPrompt)
}

// The most characters of what people wrote for people: a question, and spec.notes.
const (
	mostPrompt = 120
	mostNotes  = 1024
)
