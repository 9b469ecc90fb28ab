package words

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestKind(t *testing.T) {
	for word, want := range map[string]string{
		"server": Server, "servers": Server, "mcpserver": Server, "mcpservers": Server, "mcps": Server, "MCPServer": Server,
		"mcpserver.mooring.dev": Server, "mcpservers.mooring.dev": Server,
		"session": Session, "sessions": Session, "agentsession": Session, "agentsessions": Session, "asess": Session,
		"AgentSession": Session, "agentsession.mooring.dev": Session,
		"": "", "pods": "", "mcpserver.example.com": "",
	} {
		NewWithT(t).Expect(Kind(word)).To(Equal(want), word)
	}
}

func TestKinds(t *testing.T) {
	g := NewWithT(t)
	for _, arguments := range [][]string{nil, {"servers"}, {"mcps"}, {"AgentSessions"}} {
		g.Expect(Kinds(nil, arguments)).To(Succeed())
	}
	g.Expect(Kinds(nil, []string{"pods"})).To(MatchError(`argument "pods" is not one of servers, sessions`))
	arguments := []string{"mcps", "b"}
	g.Expect(Kinds(nil, arguments)).To(MatchError("unexpected argument: b"))
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
		NewWithT(t).Expect(Nearest(name, names)).To(Equal(want), name)
	}
	NewWithT(t).Expect(Nearest("docs", nil)).To(BeEmpty())
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
