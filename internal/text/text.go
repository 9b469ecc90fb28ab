package text

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// ellipsis shows that a text was cut.
const ellipsis = "…"

// Fit returns s as valid UTF-8 of at most limit bytes, never cut within a character. A text that was cut ends in "…",
// for which limit must leave room: it is at least 3.
func Fit(s string, limit int) string {
	s = strings.ToValidUTF8(s, string(utf8.RuneError))
	if len(s) <= limit {
		return s
	}
	end := limit - len(ellipsis)
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + ellipsis
}

// plainWord is what a POSIX shell takes as it is.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// ShellWord returns s as a POSIX shell takes it for one word, quoted where that is needed.
func ShellWord(s string) string {
	if plainWord.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
