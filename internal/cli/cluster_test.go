package cli

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/mooring-dev/mooring/api/v1alpha1"
)

// A cluster without the CRDs is told as such at once, with the command that mends it.
func TestClusterWithoutTheCRDs(t *testing.T) {
	g := NewWithT(t)
	mapper := meta.NewDefaultRESTMapper(nil)
	g.Expect(checkInstalled(mapper)).To(MatchError(ContainSubstring("run: kubectl apply -k config/crd")))
	mapper.Add(v1alpha1.GroupVersion.WithKind("MCPServer"), meta.RESTScopeNamespace)
	g.Expect(checkInstalled(mapper)).To(MatchError(errNotInstalled), "one of the two kinds is not enough")
	mapper.Add(v1alpha1.GroupVersion.WithKind("AgentSession"), meta.RESTScopeNamespace)
	g.Expect(checkInstalled(mapper)).To(Succeed())
}
