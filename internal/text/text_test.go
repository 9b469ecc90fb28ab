package text_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mooring-dev/mooring/internal/text"
)

func TestFit(t *testing.T) {
	for name, c := range map[string]struct {
		in   string
		most int
		want string
	}{
		"empty":                     {"", 3, ""},
		"fits exactly":              {"abcdef", 6, "abcdef"},
		"one byte too long":         {"abcdefg", 6, "abc…"},
		"room for the mark alone":   {"abcdef", 3, "…"},
		"not within a character":    {"aé€😀", 8, "aé…"},
		"between two characters":    {"aéb😀x", 7, "aéb…"},
		"invalid bytes are marked":  {"a\xffb", 9, "a\uFFFDb"},
		"the mark counts as it is":  {"\xffabc", 5, "…"},
		"multi-byte text that fits": {"日本語", 9, "日本語"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := text.Fit(c.in, c.most); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestShellWord(t *testing.T) {
	for in, want := range map[string]string{
		"":                         "''",
		"token=PATH":               "token=PATH",
		"system:node:a@b,c/d-e.f_": "system:node:a@b,c/d-e.f_",
		"two words":                "'two words'",
		"$(id)":                    "'$(id)'",
		"it's":                     `'it'\''s'`,
	} {
		if got := text.ShellWord(in); got != want {
			t.Errorf("%q is %s, want %s", in, got, want)
		}
	}
}

func FuzzFit(f *testing.F) {
	f.Add("aé€😀\xff", 5)
	f.Fuzz(func(t *testing.T, in string, most int) {
		if most < 3 || most > 100 {
			return
		}
		got := text.Fit(in, most)
		if len(got) > most || !utf8.ValidString(got) {
			t.Errorf("%q in %d bytes is %q", in, most, got)
		}
		whole := strings.ToValidUTF8(in, "\uFFFD")
		if got != whole && !strings.HasPrefix(whole, strings.TrimSuffix(got, "…")) {
			t.Errorf("%q is not the beginning of %q", got, in)
		}
	})
}
