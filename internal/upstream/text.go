package upstream

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const zeroWidthJoiner = '\u200d' // joins emoji

// presentableText drops what cannot be seen or changes how other text is seen (control, bidi and tag characters), and
// cuts at limit bytes.
func presentableText(text string, limit int) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r == utf8.RuneError:
			return -1
		case r == '\n', r == '\t', r == '\r':
			return ' '
		case r != zeroWidthJoiner && unicode.In(r, unicode.C, unicode.Zl, unicode.Zp):
			return -1
		}
		return r
	}, text)
	if len(text) > limit {
		text = text[:limit]
		for !utf8.ValidString(text) {
			text = text[:len(text)-1]
		}
	}
	return strings.TrimSpace(text)
}
