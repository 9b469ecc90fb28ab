package importer

import (
	"strings"
	"unicode"

	"github.com/mooring-dev/mooring/internal/importer/credential"
)

// line makes one printable line of a text that a person wrote, of at most so many characters; none of one that may hold
// a credential.
func line(text string, most int) string {
	if credential.InProse(text) {
		return ""
	}
	printable := strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
	runes := []rune(strings.Join(strings.Fields(printable), " "))
	return string(runes[:min(len(runes), most)])
}

// question is what a person is asked with; nothing if it gives away what is proposed for an answer.
func question(text string, proposed ...string) string {
	lower := strings.ToLower(text)
	for _, answer := range proposed {
		answer = strings.ToLower(strings.TrimSpace(answer))
		if answer != "" && strings.Contains(lower, answer) {
			return ""
		}
	}
	return line(text, mostPrompt)
}

// The most characters of what people wrote for people: a question, and spec.notes.
const (
	mostPrompt = 120
	mostNotes  = 1024
)
