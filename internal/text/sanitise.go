package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	zeroWidthJoiner = '\u200D'
	textSelector    = '\uFE0E'
	emojiSelector   = '\uFE0F'
	keycap          = '\u20E3'
	blackFlag       = '\U0001F3F4'
)

// hidden are the characters that are not seen: Unicode's default ignorable code points with all format controls but
// those that show as a sign of their own (Arabic number signs, Egyptian joiners), and the C1 controls.
var hidden = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x007F, Hi: 0x009F, Stride: 1}, // DEL, C1
		{Lo: 0x00AD, Hi: 0x00AD, Stride: 1},
		{Lo: 0x034F, Hi: 0x034F, Stride: 1},
		{Lo: 0x061C, Hi: 0x061C, Stride: 1}, // bidi
		{Lo: 0x115F, Hi: 0x1160, Stride: 1},
		{Lo: 0x17B4, Hi: 0x17B5, Stride: 1},
		{Lo: 0x180B, Hi: 0x180F, Stride: 1},
		{Lo: 0x200B, Hi: 0x200F, Stride: 1}, // zero width, bidi
		{Lo: 0x202A, Hi: 0x202E, Stride: 1}, // bidi
		{Lo: 0x2060, Hi: 0x206F, Stride: 1}, // invisible operators, bidi
		{Lo: 0x3164, Hi: 0x3164, Stride: 1},
		{Lo: 0xFE00, Hi: 0xFE0F, Stride: 1}, // variation selectors
		{Lo: 0xFEFF, Hi: 0xFEFF, Stride: 1},
		{Lo: 0xFFA0, Hi: 0xFFA0, Stride: 1},
		{Lo: 0xFFF0, Hi: 0xFFFB, Stride: 1},
	},
	R32: []unicode.Range32{
		{Lo: 0x1BCA0, Hi: 0x1BCA3, Stride: 1},
		{Lo: 0x1D173, Hi: 0x1D17A, Stride: 1},
		{Lo: 0xE0000, Hi: 0xE0FFF, Stride: 1}, // tags, variation selectors supplement
	},
}

// pictographs are the blocks that hold Unicode's emoji, arrows included; the few emoji among letters and punctuation
// stand in emojiSigns.
var pictographs = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x2190, Hi: 0x21FF, Stride: 1},
		{Lo: 0x2300, Hi: 0x23FF, Stride: 1},
		{Lo: 0x25A0, Hi: 0x27BF, Stride: 1},
		{Lo: 0x2900, Hi: 0x297F, Stride: 1},
		{Lo: 0x2B00, Hi: 0x2BFF, Stride: 1},
	},
	R32: []unicode.Range32{{Lo: 0x1F000, Hi: 0x1FAFF, Stride: 1}},
}

const emojiSigns = "©®‼⁉™ℹⓂ〰〽㊗㊙"

// subdivisionFlags are the only emoji that consist of tag characters (England, Scotland, Wales). Nothing else in tags
// survives, so they carry no text.
var subdivisionFlags = []string{
	"\U000E0067\U000E0062\U000E0065\U000E006E\U000E0067\U000E007F",
	"\U000E0067\U000E0062\U000E0073\U000E0063\U000E0074\U000E007F",
	"\U000E0067\U000E0062\U000E0077\U000E006C\U000E0073\U000E007F",
}

// Sanitise returns text without characters that are not seen, and how many it removed or replaced. C0 and C1 controls
// other than line feed and tab, zero-width characters, bidi controls, tags and variation selectors go; emoji with
// their joiners and selectors stay whole. Invalid UTF-8 becomes U+FFFD. CR LF becomes LF and is not counted.
func Sanitise(text string) (string, int) {
	if firstHidden(text) < 0 {
		return text, 0
	}
	var c cleaner
	c.out.Grow(len(text))
	for rest := text; rest != ""; {
		rest = c.take(rest)
	}
	return c.out.String(), c.count
}

// firstHidden returns the offset of the first character that Sanitise has to look at, -1 when there is none.
func firstHidden(text string) int {
	for i, r := range text {
		switch {
		case r < utf8.RuneSelf:
			if isControl(r) {
				return i
			}
		case r == utf8.RuneError || unicode.Is(hidden, r):
			return i
		}
	}
	return -1
}

func isControl(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r == 0x7F }

// cleaner writes what may be seen and remembers what was written last.
type cleaner struct {
	out   strings.Builder
	base  rune // the last character written that is no selector
	last  rune // the last character written
	count int
}

// take decides on the first character of rest, which is not empty, and returns what follows it.
func (c *cleaner) take(rest string) string {
	r, size := utf8.DecodeRuneInString(rest)
	after := rest[size:]
	switch {
	case r == utf8.RuneError && size == 1:
		c.count++
		c.write(r)
	case r == blackFlag:
		c.write(r)
		for _, tags := range subdivisionFlags {
			if strings.HasPrefix(after, tags) {
				c.out.WriteString(tags)
				return after[len(tags):]
			}
		}
	case r == '\r' && strings.HasPrefix(after, "\n"):
	case !isControl(r) && !unicode.Is(hidden, r), c.partOfEmoji(r, after):
		c.write(r)
	default:
		c.count++
	}
	return after
}

func (c *cleaner) write(r rune) {
	c.out.WriteRune(r)
	if c.last = r; r != textSelector && r != emojiSelector {
		c.base = r
	}
}

// partOfEmoji reports whether the hidden character r belongs to an emoji between what was written and what comes.
func (c *cleaner) partOfEmoji(r rune, after string) bool {
	next, _ := utf8.DecodeRuneInString(after)
	switch r {
	case zeroWidthJoiner:
		return unicode.Is(pictographs, c.base) && unicode.Is(pictographs, next)
	case textSelector, emojiSelector:
		if strings.ContainsRune("#*0123456789", c.last) {
			return next == keycap
		}
		return unicode.Is(pictographs, c.last) || strings.ContainsRune(emojiSigns, c.last)
	}
	return false
}

// Line returns s on one line, sanitised, and cut with "…" to at most limit characters.
func Line(s string, limit int) string {
	// Bounds the work on a huge text; 16 bytes for each character shown leave room for what cleaning removes.
	if most := 16 * limit; len(s) > most {
		s = strings.ToValidUTF8(s[:most], "")
	}
	s, _ = Sanitise(s)
	s = strings.Join(strings.Fields(s), " ")
	runes := []rune(s)
	if len(runes) <= limit {
		return s
	}
	return string(runes[:limit-1]) + ellipsis
}

// ASCII returns what may be quoted of a name that a peer chose (a host, a content type, a certificate's issuer):
// printable ASCII without quotes and backslashes, at most limit bytes.
func ASCII(s string, limit int) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || r == '"' || r == '\\' {
			return -1
		}
		return r
	}, s)
	return s[:min(len(s), limit)]
}
