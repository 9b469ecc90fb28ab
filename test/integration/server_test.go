package integration

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/test/builder"
	"github.com/mooring-dev/mooring/test/mcpfake"
)

func TestServerBecomesReadyAndPublishesItsTools(t *testing.T) {
	t.Parallel()
	for name, era := range map[string]mcpfake.Era{"legacy": mcpfake.Legacy, "modern": mcpfake.Modern} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			fake := mcpfake.New(t, mcpfake.WithEra(era))
			w.apply(builder.MCPServer("fs").URL(fake.URL()).Obj())
			server := w.ready("fs")
			w.Expect(says(server, v1alpha1.ConditionAccepted)).To(Equal("True Valid"))
			w.Expect(says(server, v1alpha1.ConditionConnected)).To(Equal("True Connected"))
			w.Expect(says(server, v1alpha1.ConditionCatalogPublished)).To(Equal("True Published"))
			w.Expect(says(server, v1alpha1.ConditionReconciling)).To(BeEmpty())
			w.Expect(server.Status.ObservedGeneration).To(Equal(server.Generation))
			w.Expect(*server.Status.Catalog.ToolCount).To(BeEquivalentTo(len(mcpfake.DefaultTools())))

			catalog := w.configMap("fs-mcp-tools")
			owner := metav1.GetControllerOf(catalog)
			w.Expect(owner).NotTo(BeNil())
			w.Expect(owner.UID).To(Equal(server.UID))
			w.Expect(catalog.Data["catalog.json"]).To(ContainSubstring(server.Status.Catalog.Digest))
			w.Expect(catalog.Annotations).To(Equal(map[string]string{v1alpha1.AnnotationProtocolEra: name}))
		})
	}
}

func TestDeletedServerClosesItsSessionAndLosesItsCatalog(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	fake := mcpfake.New(t)
	w.apply(builder.MCPServer("fs").URL(fake.URL()).Obj())
	server := w.ready("fs")
	w.Expect(fake.OpenSessions()).To(Equal(1))
	w.Expect(admin.Delete(w.ctx, server)).To(Succeed())
	fake.Await(t, func(s mcpfake.Stats) bool { return s.Sessions == 0 })
	w.Eventually(func() bool { return w.configMap("fs-mcp-tools") == nil }).Should(BeTrue())
}

func TestRefusingServerIsToldAndOthersAreNot(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	fake, refusing := mcpfake.New(t), mcpfake.New(t)
	w.Expect(refusing.Refuse()).To(Succeed())
	w.apply(builder.MCPServer("good").URL(fake.URL()).Obj(), builder.MCPServer("bad").URL(refusing.URL()).Obj())
	w.ready("good")
	bad := w.await("bad", v1alpha1.ConditionReady, "False ConnectFailed")
	w.Expect(says(bad, v1alpha1.ConditionReconciling)).To(Equal("True ProgressingWithRetry"))
	w.Expect(says(bad, v1alpha1.ConditionStalled)).To(BeEmpty())
	w.Expect(refusing.Restore()).To(Succeed())
	w.ready("bad")
}

func TestDisabledServerIsReadyWithoutSession(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	fake := mcpfake.New(t)
	w.apply(builder.MCPServer("fs").URL(fake.URL()).Disabled().Obj())
	w.await("fs", v1alpha1.ConditionReady, "True Disabled")
	w.Expect(fake.Stats().Requests).To(BeZero())
	w.change("fs", func(s *v1alpha1.MCPServer) { s.Spec.Disabled = false })
	w.ready("fs")
	w.change("fs", func(s *v1alpha1.MCPServer) { s.Spec.Disabled = true })
	w.await("fs", v1alpha1.ConditionReady, "True Disabled")
	fake.Await(t, func(s mcpfake.Stats) bool { return s.Sessions == 0 })
}

func TestBearerFromSecretThatComesLaterAndChanges(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	fake := mcpfake.New(t, mcpfake.WithBearer("first"))
	w.apply(builder.MCPServer("fs").URL(fake.URL()).Bearer("login", "token").Obj())
	waiting := w.await("fs", v1alpha1.ConditionAccepted, "False SecretNotFound")
	w.Expect(says(waiting, v1alpha1.ConditionReconciling)).To(Equal("True Progressing"))

	secret := builder.Secret(w.namespace, "login").Key("token", "first\n").Obj()
	w.apply(secret)
	w.ready("fs")

	fake.SetBearer("first", "second") // the old session is closed with the old token
	before := secret.DeepCopy()
	secret.StringData = map[string]string{"token": "second"}
	w.Expect(admin.Patch(w.ctx, secret, client.MergeFrom(before))).To(Succeed())
	fake.Await(t, func(s mcpfake.Stats) bool { return s.Sessions == 1 && seen(fake.Credentials(), "second") })
	w.ready("fs")

	w.Expect(admin.Delete(w.ctx, secret)).To(Succeed())
	w.await("fs", v1alpha1.ConditionReady, "False SecretNotFound")
	fake.Await(t, func(s mcpfake.Stats) bool { return s.Sessions == 0 })
}

func seen(credentials []string, wanted string) bool {
	for _, credential := range credentials {
		if strings.Contains(credential, wanted) {
			return true
		}
	}
	return false
}
