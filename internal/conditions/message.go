package conditions

import (
	"strings"
	"unicode/utf8"
)

// MaxMessage is the longest message, in bytes. The API allows 32768 characters; a person reads the first lines, and a
// fleet's status should stay small.
const MaxMessage = 1024

// ellipsis shows that a message was cut.
const ellipsis = "…"

// Message returns text as it will stand in a condition: valid UTF-8, at most MaxMessage bytes, never cut within a
// character. A text that was cut ends in "…".
func Message(text string) string {
	text = strings.ToValidUTF8(text, string(utf8.RuneError))
	if len(text) <= MaxMessage {
		return text
	}
	end := MaxMessage - len(ellipsis)
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + ellipsis
}
