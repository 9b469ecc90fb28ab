package explain

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestMessagesAreTakenApart(t *testing.T) {
	for name, test := range map[string]struct{ message, what, advice string }{
		"nothing":           {"", "", ""},
		"no advice":         {"connecting to x", "connecting to x", ""},
		"advice":            {"it was refused; check it", "it was refused", "check it"},
		"two pieces":        {"it was refused; check it; mend it", "it was refused", "check it; mend it"},
		"tried again":       {"429; it is tried again later", "429", ""},
		"advice and again":  {"it fell; look there; it is tried again by itself", "it fell", "look there"},
		"in parentheses":    {"denied (need a label; ask me); change it", "denied (need a label; ask me)", "change it"},
		"nested":            {"denied (a (b; c); d); change it", "denied (a (b; c); d)", "change it"},
		"in quotes":         {`"a; b" is not one; correct it`, `"a; b" is not one`, "correct it"},
		"escaped quote":     {`"a\"; b" is not one; correct it`, `"a\"; b" is not one`, "correct it"},
		"parenthesis there": {`"(" is not one; correct it`, `"(" is not one`, "correct it"},
		"quote in both":     {`denied ("a); b"; c); change it`, `denied ("a); b"; c)`, "change it"},
		"left open":         {"denied (sad :( a; b); change it; then wait", "denied (sad :( a; b)", "change it; then wait"},
		"open quote":        {`denied (5" wide; b); change it`, `denied (5" wide; b)`, "change it"},
		"open to the end":   {`denied (a; b`, `denied (a; b`, ""},
		"closed too often":  {"smile :); change it", "smile :)", "change it"},
		"a command":         {"not permitted; do: kubectl a --b='c; d'", "not permitted", "do: kubectl a --b='c; d'"},
	} {
		t.Run(name, func(t *testing.T) {
			what, advice := parted(test.message)
			NewWithT(t).Expect([]string{what, advice}).To(Equal([]string{test.what, test.advice}))
		})
	}
}
