package text_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/mooring-dev/mooring/internal/text"
)

// england is a flag made of tag characters.
const england = "🏴\U000E0067\U000E0062\U000E0065\U000E006E\U000E0067\U000E007F"

func tagged(hidden string) string {
	return strings.Map(func(r rune) rune { return 0xE0000 + r }, hidden)
}

func TestB39_WhatSurvives(t *testing.T) {
	for _, in := range []string{
		"", "plain", "line\n\ttab", "Ünïcödé 数据库 עברית العربية हिन्दी", "📁 😀 👍🏽", "👩‍💻 👨‍👩‍👧‍👦 👩🏽‍🚀 🏳️‍🌈 🏴‍☠️ ❤️‍🔥 🐈‍⬛ 🙂‍↔️",
		"🇩🇪🇯🇵", england + " " + strings.Replace(england, "\U000E0065\U000E006E\U000E0067", "\U000E0073\U000E0063\U000E0074",
			1),
		"1️⃣ #️⃣ ☎︎ ™️ ©️ ‼️ ㊗️", "a\u2028b", "\uFFFD",
	} {
		if got, removed := text.Sanitise(in); got != in || removed != 0 {
			t.Errorf("%q became %q, %d removed", in, got, removed)
		}
	}
}

func TestB39_WhatGoes(t *testing.T) {
	for name, c := range map[string]struct {
		in, want string
		removed  int
	}{
		"tags":                     {"a" + tagged("ignore") + "b", "ab", 6},
		"tags after a flag":        {"🏴" + tagged("evil") + "\U000E007F", "🏴", 5},
		"flag, then more tags":     {england + tagged("evil"), england, 4},
		"zero width":               {"a\u200Bb\u200Cc\u200Dd\u2060e\uFEFFf", "abcdef", 5},
		"bidi":                     {"\u202Ea\u2066b\u2069\u200F\u061C", "ab", 5},
		"C0 and DEL":               {"a\x00\x1b[31m\x7f\rb", "a[31mb", 4},
		"C1":                       {"a\u0085\u009bb", "ab", 2},
		"CR LF is a line end":      {"a\r\nb\r\nc", "a\nb\nc", 0},
		"CR LF and a hidden one":   {"a\r\nb\u200b", "a\nb", 1},
		"invalid UTF-8":            {"a\xff\xfeb", "a\uFFFD\uFFFDb", 2},
		"joiner beside text":       {"😀\u200Da 😀\u200D", "😀a 😀", 2},
		"joiners in a row":         {"👩\u200D\u200D💻", "👩\u200D💻", 1},
		"selectors in a row":       {"❤\uFE0F\uFE0F\uFE0E", "❤\uFE0F", 2},
		"selector after a letter":  {"a\uFE0Fb1\uFE0F2", "ab12", 2},
		"bytes in selectors":       {"😀\uFE01\U000E0100\U000E01EF", "😀", 3},
		"fillers and soft hyphens": {"a\u3164\u115F\u00ADb\u034F", "ab", 4},
	} {
		if got, removed := text.Sanitise(c.in); got != c.want || removed != c.removed {
			t.Errorf("%s: got %q, %d removed; want %q, %d", name, got, removed, c.want, c.removed)
		}
	}
}

// TestHiddenCharactersAreUnicodes proves the table of hidden characters against Unicode's own properties.
func TestHiddenCharactersAreUnicodes(t *testing.T) {
	visibleControls := []*unicode.RangeTable{unicode.Prepended_Concatenation_Mark, {
		R32: []unicode.Range32{{Lo: 0x13430, Hi: 0x1345F, Stride: 1}},
	}}
	for r := rune(0x20); r <= unicode.MaxRune; r++ {
		if !utf8.ValidRune(r) || r == unicode.ReplacementChar {
			continue
		}
		want := unicode.In(r, unicode.Cc, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point,
			unicode.Variation_Selector) &&
			!unicode.In(r, visibleControls...)
		if _, removed := text.Sanitise("a" + string(r)); (removed == 1) != want {
			t.Errorf("%U: removed %d, hidden is %v", r, removed, want)
		}
	}
}

func FuzzSanitise(f *testing.F) {
	for _, seed := range []string{"a\u200bb", england + "\U000E0067", "👩\u200d\u200b\u200d💻", "1\ufe0f\u20e3",
		"\r\r\n\xff", "❤\ufe0f\u200d🔥"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		clean, removed := text.Sanitise(in)
		if !utf8.ValidString(clean) {
			t.Fatalf("%q is not valid UTF-8", clean)
		}
		if again, more := text.Sanitise(clean); again != clean || more != 0 {
			t.Fatalf("cleaning %q again gives %q, %d removed", clean, again, more)
		}
		if (clean == in) != (removed == 0) && clean != strings.ReplaceAll(in, "\r\n", "\n") {
			t.Fatalf("%q to %q, %d removed", in, clean, removed)
		}
		for _, r := range strings.ReplaceAll(clean, england, "") {
			if unicode.In(r, unicode.Bidi_Control) || r < ' ' && r != '\n' && r != '\t' || 0xE0000 <= r && r < 0xE0020 {
				t.Fatalf("%U is left", r)
			}
		}
	})
}

func TestLine(t *testing.T) {
	for in, want := range map[string]string{
		"é\u200bx": "éx", "\u200b\ufeffy": "y", "日本": "日本", "  ": "", "a\nb\t c": "a b c", "123456": "1234…",
		"\xffy": "\uFFFDy", "a\u2028b": "a b", "y" + strings.Repeat("\u200b", 99) + "x": "y",
	} {
		if got := text.Line(in, 5); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestASCII(t *testing.T) {
	if got := text.ASCII("a\x00b\"\\é\u202ec", 3); got != "abc" {
		t.Errorf("text = %q", got)
	}
}
