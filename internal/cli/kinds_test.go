package cli

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestKind(t *testing.T) {
	for word, want := range map[string]*kind{
		"server": serverKind, "servers": serverKind,
		"mcpserver": serverKind, "mcpservers": serverKind, "mcps": serverKind, "MCPServer": serverKind,
		"mcpserver.mooring.dev": serverKind, "mcpservers.mooring.dev": serverKind,
		"session": sessionKind, "sessions": sessionKind,
		"agentsession": sessionKind, "agentsessions": sessionKind, "asess": sessionKind,
		"AgentSession": sessionKind, "agentsession.mooring.dev": sessionKind,
		"": nil, "pods": nil, "mcpserver.example.com": nil,
	} {
		NewWithT(t).Expect(kindOf(word)).To(BeIdenticalTo(want), word)
	}
}

func TestKinds(t *testing.T) {
	g := NewWithT(t)
	for _, arguments := range [][]string{nil, {"servers"}, {"mcps"}, {"AgentSessions"}} {
		g.Expect(kindArgs(nil, arguments)).To(Succeed())
	}
	g.Expect(kindArgs(nil, []string{"pods"})).To(MatchError(`argument "pods" is not one of servers, sessions`))
	arguments := []string{"mcps", "b"}
	g.Expect(kindArgs(nil, arguments)).To(MatchError("unexpected argument: b"))
	g.Expect(arguments).To(Equal([]string{"mcps", "b"}), "they are the caller's")
}

func TestNearest(t *testing.T) {
	names := []string{"docs", "github", "gitlab", "search", "a"}
	for name, want := range map[string]string{
		"dosc":     "docs",   // exchanged
		"doc":      "docs",   // missing
		"docss":    "docs",   // too much
		"dogs":     "docs",   // wrong
		"dgso":     "",       // too far for four letters
		"githbu":   "github", // of two, the nearer one
		"gtlb":     "",
		"gitlob":   "gitlab",
		"sea":      "search", // a beginning
		"se":       "",       // too little of it
		"serhc":    "",
		"saerhc":   "search", // two changes of six letters
		"b":        "",       // any letter is as near as another
		"":         "",
		"warmhole": "",
	} {
		NewWithT(t).Expect(nearest(name, names)).To(Equal(want), name)
	}
	NewWithT(t).Expect(nearest("docs", nil)).To(BeEmpty())
}

// The distance is the same both ways, and none only of a name to itself.
func TestDistance(t *testing.T) {
	names := []string{"", "a", "ab", "ba", "docs", "dosc", "github", "gitlab"}
	for _, a := range names {
		for _, b := range names {
			NewWithT(t).Expect(distance(a, b)).To(Equal(distance(b, a)), a+" "+b)
			NewWithT(t).Expect(distance(a, b) == 0).To(Equal(a == b), a+" "+b)
		}
	}
	NewWithT(t).Expect(distance("kitten", "sitting")).To(Equal(3))
}
