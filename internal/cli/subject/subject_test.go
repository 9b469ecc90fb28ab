package subject_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/cli/subject"
	"github.com/mooring-dev/mooring/internal/cli/usage"
	"github.com/mooring-dev/mooring/test/builder"
)

var errDown = errors.New("connection refused")

// cluster is one that answers nothing; without a client, it cannot be connected to.
type cluster struct{ client.WithWatch }

func (cluster) Register(*pflag.FlagSet) {}

func (c cluster) Connect() (client.WithWatch, string, error) {
	if c.WithWatch == nil {
		return nil, "", errDown
	}
	return c.WithWatch, "agents", nil
}

func silent() cluster {
	return cluster{interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return errDown
		},
	})}
}

func command() *cobra.Command {
	cmd := &cobra.Command{Use: "mooring"}
	cmd.SetContext(context.Background())
	return cmd
}

func TestFindTakesKindsByEveryWord(t *testing.T) {
	both := []subject.Kind{subject.Server, subject.Session}
	for argument, want := range map[string]subject.Kind{
		"a": subject.Any, "server/a": subject.Server, "MCPServers/a": subject.Server, "asess/a": subject.Session,
		"mcpserver/a":             subject.Server,
		"mcpserver.mooring.dev/a": subject.Server, "session/a": subject.Session, "agentsession/a": subject.Session,
		"agentsession.mooring.dev/a": subject.Session,
	} {
		t.Run(argument, func(t *testing.T) {
			g := NewWithT(t)
			at, err := subject.Find(command(), silent(), argument, both...)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(at.Kind).To(Equal(want))
			g.Expect(at.ObjectKey).To(Equal(client.ObjectKey{Namespace: "agents", Name: "a"}))
		})
	}
}

// A command about one kind needs no word for it, and takes no other.
func TestFindOfOneKind(t *testing.T) {
	g := NewWithT(t)
	at, err := subject.Find(command(), silent(), "a", subject.Session)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(at.Kind).To(Equal(subject.Session))
	g.Expect(at.Server()).To(BeNil(), "none is meant, and none looked for")
	_, err = subject.Find(command(), cluster{}, "server/a", subject.Session)
	g.Expect(err).To(MatchError(`no kind "server"; use session`))
	g.Expect(errors.As(err, new(*usage.Error))).To(BeTrue(), "it is said before the cluster is asked")
	_, err = subject.Find(command(), cluster{}, "session/a", subject.Session)
	g.Expect(err).To(MatchError(errDown))
}

// What is no name is refused before the cluster is asked.
func TestFindWithoutAName(t *testing.T) {
	both := []subject.Kind{subject.Server, subject.Session}
	for _, argument := range []string{"", "server/", "server/a/b", "session//a"} {
		g := NewWithT(t)
		_, err := subject.Find(command(), cluster{}, argument, both...)
		g.Expect(err).To(MatchError(fmt.Sprintf("no name in %q", argument)))
		g.Expect(errors.As(err, new(*usage.Error))).To(BeTrue(), "it ends with status 2")
	}
	_, err := subject.Find(command(), cluster{}, "", subject.Session)
	NewWithT(t).Expect(err).To(MatchError(`no name in ""`))
}

// A name that is nearly right is asked for, among those of the kind and the namespace.
func TestNoneSuggestsWhatIsNear(t *testing.T) {
	scheme := runtime.NewScheme()
	NewWithT(t).Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())
	there := cluster{fake.NewClientBuilder().WithScheme(scheme).WithObjects(
		builder.MCPServer("docs").Namespace("agents").Obj(), builder.MCPServer("github").Namespace("elsewhere").Obj(),
		builder.AgentSession("coder").Namespace("agents").Obj()).Build()}
	for argument, want := range map[string]string{
		"dosc": `no AgentSession or MCPServer "dosc" in namespace "agents"; did you mean docs? ` +
			"`mooring get sessions -A` and `mooring get servers -A` list all",
		"cder": `no AgentSession or MCPServer "cder" in namespace "agents"; did you mean coder? ` +
			"`mooring get sessions -A` and `mooring get servers -A` list all",
		"session/dosc":  "no AgentSession \"dosc\" in namespace \"agents\"; `mooring get sessions -A` lists all",
		"server/dosc":   "no MCPServer \"dosc\" in namespace \"agents\"; did you mean docs? `mooring get -A` lists all",
		"server/githbu": "no MCPServer \"githbu\" in namespace \"agents\"; `mooring get -A` lists all",
	} {
		at, err := subject.Find(command(), there, argument, subject.Server, subject.Session)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		NewWithT(t).Expect(at.None()).To(MatchError(want))
	}
}

// What cannot be read is not taken for what does not exist.
func TestReadThatFails(t *testing.T) {
	g := NewWithT(t)
	at, err := subject.Find(command(), silent(), "a", subject.Server, subject.Session)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = at.Server()
	g.Expect(err).To(MatchError("mcpserver: connection refused"))
	_, err = at.Session()
	g.Expect(err).To(MatchError("agentsession: connection refused"))
}
