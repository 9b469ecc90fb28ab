package text

import (
	"strings"
	"unicode/utf8"
)

// ellipsis shows that a text was cut.
const ellipsis = "…"

// Fit returns s as valid UTF-8 of at most most bytes, never cut within a character. A text that was cut ends in "…",
// for which most must leave room: it is at least 3.
func Fit(s string, most int) string {
	s = strings.ToValidUTF8(s, string(utf8.RuneError))
	if len(s) <= most {
		return s
	}
	end := most - len(ellipsis)
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + ellipsis
}
