package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/mooring-dev/mooring/test/builder"
)

var errDown = errors.New("connection refused")

// silent is a cluster that answers nothing.
func silent() connected {
	return connected{interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return errDown
		},
	})}
}

// anyCommand is one of the program.
func anyCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "mooring"}
	cmd.SetContext(context.Background())
	return cmd
}

func TestFindTakesKindsByEveryWord(t *testing.T) {
	both := []*kind{serverKind, sessionKind}
	for argument, want := range map[string][]*kind{
		"a": both, "server/a": {serverKind}, "MCPServers/a": {serverKind}, "asess/a": {sessionKind},
		"mcpserver/a":             {serverKind},
		"mcpserver.mooring.dev/a": {serverKind}, "session/a": {sessionKind}, "agentsession/a": {sessionKind},
		"agentsession.mooring.dev/a": {sessionKind},
	} {
		t.Run(argument, func(t *testing.T) {
			g := NewWithT(t)
			at, err := lookUp(anyCommand(), silent(), argument, both...)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(at.kinds).To(Equal(want))
			g.Expect(at.ObjectKey).To(Equal(client.ObjectKey{Namespace: "agents", Name: "a"}))
		})
	}
}

// A command about one kind needs no word for it, and takes no other.
func TestFindOfOneKind(t *testing.T) {
	g := NewWithT(t)
	at, err := lookUp(anyCommand(), silent(), "a", sessionKind)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(at.kinds).To(Equal([]*kind{sessionKind}), "none of the other is looked for")
	_, err = lookUp(anyCommand(), connected{}, "server/a", sessionKind)
	g.Expect(err).To(MatchError(`no kind "server"; use session`))
	g.Expect(errors.As(err, new(*usageError))).To(BeTrue(), "it is said before the cluster is asked")
	_, err = lookUp(anyCommand(), connected{}, "session/a", sessionKind)
	g.Expect(err).To(MatchError(errDown))
}

// What is no name is refused before the cluster is asked.
func TestFindWithoutAName(t *testing.T) {
	both := []*kind{serverKind, sessionKind}
	for _, argument := range []string{"", "server/", "server/a/b", "session//a"} {
		g := NewWithT(t)
		_, err := lookUp(anyCommand(), connected{}, argument, both...)
		g.Expect(err).To(MatchError(fmt.Sprintf("no name in %q", argument)))
		g.Expect(errors.As(err, new(*usageError))).To(BeTrue(), "it ends with status 2")
	}
	_, err := lookUp(anyCommand(), connected{}, "", sessionKind)
	NewWithT(t).Expect(err).To(MatchError(`no name in ""`))
}

// A name that is nearly right is asked for, among those of the kind and the namespace.
func TestNoneSuggestsWhatIsNear(t *testing.T) {
	there := connected{fake.NewClientBuilder().WithScheme(newScheme()).WithObjects(
		builder.MCPServer("docs").Namespace("agents").Obj(), builder.MCPServer("github").Namespace("elsewhere").Obj(),
		builder.AgentSession("coder").Namespace("agents").Obj()).Build()}
	for argument, want := range map[string]string{
		"dosc": `no MCPServer or AgentSession "dosc" in namespace "agents" (did you mean docs?); ` +
			"list all with `mooring get servers -A` or `mooring get sessions -A`",
		"cder": `no MCPServer or AgentSession "cder" in namespace "agents" (did you mean coder?); ` +
			"list all with `mooring get servers -A` or `mooring get sessions -A`",
		"session/dosc": "no AgentSession \"dosc\" in namespace \"agents\"; list all with `mooring get sessions -A`",
		"server/dosc": "no MCPServer \"dosc\" in namespace \"agents\" (did you mean docs?); " +
			"list all with `mooring get servers -A`",
		"server/githbu": "no MCPServer \"githbu\" in namespace \"agents\"; list all with `mooring get servers -A`",
	} {
		at, err := lookUp(anyCommand(), there, argument, serverKind, sessionKind)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		NewWithT(t).Expect(at.notFound()).To(MatchError(want))
	}
}

// What cannot be read is not taken for what does not exist.
func TestReadThatFails(t *testing.T) {
	g := NewWithT(t)
	for _, of := range []*kind{serverKind, sessionKind} {
		at, err := lookUp(anyCommand(), silent(), "a", of)
		g.Expect(err).NotTo(HaveOccurred())
		_, err = at.find()
		g.Expect(err).To(MatchError(strings.ToLower(of.name) + ": connection refused"))
	}
}
