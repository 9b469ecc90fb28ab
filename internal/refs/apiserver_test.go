package refs

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/mooring-dev/mooring/test/pace"
)

// cluster is a real API server with RBAC, an administrator, and the identity that the Tracker runs under.
type cluster struct {
	admin      kubernetes.Interface
	manager    *rest.Config
	kubectl    string
	kubeconfig string
}

const (
	patience   = pace.Patience
	connection = "golang.org/x/net/http2.(*clientConnReadLoop).run"
)

func TestAgainstARealAPIServer(t *testing.T) {
	c := startCluster(t)
	t.Run("secret created later, changed, deleted", c.followsASecret)
	t.Run("config map created later", c.followsAConfigMap)
	t.Run("denied, then granted by the command", c.heals)
	t.Run("revocation noticed by a read", c.noticesRevocationByRead)
	t.Run("revocation noticed by the watch", c.noticesRevocationByWatch)
	t.Run("identity", func(t *testing.T) {
		kube := kubernetes.NewForConfigOrDie(c.manager)
		if got, err := Identity(t.Context(), kube); err != nil || got != identity {
			t.Fatalf("identity = %q, %v, want %q", got, err, identity)
		}
	})
}

func (c *cluster) followsASecret(t *testing.T) {
	g := NewWithT(t)
	ns := c.namespace(t, "created-later")
	c.grant(t, ns)
	s := c.track(t)
	ref := secretRef(ns, "gh")
	s.tracker.Track(named(ns, "github"), []Ref{ref})
	s.expectWake(g, named(ns, "github"), "watch is up")

	_, _, err := s.tracker.Read(t.Context(), ref)
	g.Expect(err).To(MatchError(NotFoundError{Secret, ns, "gh"}))

	secrets := c.admin.CoreV1().Secrets(ns)
	secret, err := secrets.Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "gh"}, StringData: map[string]string{"token": "one"},
	}, metav1.CreateOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	s.expectWake(g, named(ns, "github"), "created")
	s.expectValue(t, g, ref, "one")

	secret.StringData = map[string]string{"token": "two"}
	_, err = secrets.Update(t.Context(), secret, metav1.UpdateOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	s.expectWake(g, named(ns, "github"), "changed")
	s.expectValue(t, g, ref, "two")

	missing := ref
	missing.Key = "user"
	_, _, err = s.tracker.Read(t.Context(), missing)
	g.Expect(err).To(MatchError(KeyNotFoundError{Secret, ns, "gh", "user"}))

	g.Expect(secrets.Delete(t.Context(), "gh", metav1.DeleteOptions{})).To(Succeed())
	s.expectWake(g, named(ns, "github"), "deleted")
	_, _, err = s.tracker.Read(t.Context(), ref)
	g.Expect(err).To(MatchError(NotFoundError{Secret, ns, "gh"}))
}

func (c *cluster) followsAConfigMap(t *testing.T) {
	g := NewWithT(t)
	ns := c.namespace(t, "config-map")
	c.grant(t, ns)
	s := c.track(t)
	ref := Ref{Kind: ConfigMap, Namespace: ns, Name: "ca", Key: "ca.crt"}
	s.tracker.Track(named(ns, "github"), []Ref{ref})
	s.expectWake(g, named(ns, "github"), "watch is up")
	_, err := c.admin.CoreV1().ConfigMaps(ns).Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "ca"}, Data: map[string]string{"ca.crt": "pem"},
	}, metav1.CreateOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	s.expectWake(g, named(ns, "github"), "created")
	s.expectValue(t, g, ref, "pem")
}

func (c *cluster) heals(t *testing.T) {
	g := NewWithT(t)
	ns := c.namespace(t, "denied")
	c.secret(t, ns)
	s := c.track(t)
	ref := secretRef(ns, "gh")
	s.tracker.Track(named(ns, "github"), []Ref{ref})
	s.expectWake(g, named(ns, "github"), "denied")
	g.Expect(s.tracker.denied(ns, Secret)).To(BeTrue())
	_, _, err := s.tracker.Read(t.Context(), ref)
	denied, ok := errors.AsType[AccessDeniedError](err)
	g.Expect(ok).To(BeTrue(), "error is %v", err)

	out, err := c.shell(denied.Grant)
	g.Expect(err).NotTo(HaveOccurred(), "%s: %s", denied.Grant, out)
	s.expectWake(g, named(ns, "github"), "granted")
	g.Expect(s.tracker.denied(ns, Secret)).To(BeFalse())
	s.expectValue(t, g, ref, "one")
	g.Consistently(s.wakes, time.Second).Should(BeEmpty(), "woken more than once")
}

func (c *cluster) noticesRevocationByRead(t *testing.T) {
	g := NewWithT(t)
	ns := c.namespace(t, "revoked-read")
	c.secret(t, ns)
	c.grant(t, ns)
	s := c.track(t)
	ref := secretRef(ns, "gh")
	s.tracker.Track(named(ns, "github"), []Ref{ref})
	s.tracker.Track(named(ns, "bystander"), []Ref{secretRef(ns, "other")})
	s.expectWake(g, named(ns, "github"), "watch is up")
	s.expectValue(t, g, ref, "one")

	c.revoke(t, ns)
	g.Eventually(func() error {
		_, _, err := s.tracker.Read(t.Context(), ref)
		return err
	}, patience).Should(MatchError(AccessDeniedError{Secret, ns, GrantCommand(identity, ns)}))
	g.Expect(s.tracker.denied(ns, Secret)).To(BeTrue())
	s.expectWake(g, named(ns, "bystander"), "denied")

	c.grant(t, ns)
	s.expectWake(g, named(ns, "bystander"), "granted")
	s.expectValue(t, g, ref, "one")
}

func (c *cluster) noticesRevocationByWatch(t *testing.T) {
	g := NewWithT(t)
	ns := c.namespace(t, "revoked-watch")
	c.secret(t, ns)
	c.grant(t, ns)
	s := c.track(t, func(tracker *Tracker) { tracker.watchTimeout = time.Second })
	s.tracker.Track(named(ns, "github"), []Ref{secretRef(ns, "gh")})
	s.expectWake(g, named(ns, "github"), "watch is up")
	c.revoke(t, ns)
	s.expectWake(g, named(ns, "github"), "denied")
	g.Expect(s.tracker.denied(ns, Secret)).To(BeTrue())
}

// startCluster starts etcd and kube-apiserver for this test.
func startCluster(t *testing.T) *cluster {
	t.Helper()
	assets := os.Getenv("KUBEBUILDER_ASSETS")
	if assets == "" {
		assets = filepath.Join("..", "..", "bin")
	}
	for _, name := range []string{"etcd", "kube-apiserver", "kubectl"} {
		if _, err := os.Stat(filepath.Join(assets, name)); err != nil {
			t.Fatalf("no %s to test against: run make controlplane (%v)", name, err)
		}
	}
	env := &envtest.Environment{BinaryAssetsDirectory: assets, ControlPlaneStartTimeout: patience}
	config, err := env.Start()
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Errorf("stop of the control plane: %v", err)
		}
	})
	if err != nil {
		t.Fatalf("start of the control plane: %v", err)
	}
	manager, err := env.AddUser(envtest.User{Name: identity}, nil)
	if err != nil {
		t.Fatal(err)
	}
	admin, err := env.AddUser(envtest.User{Name: "admin", Groups: []string{"system:masters"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig, err := admin.KubeConfig()
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{
		admin:      kubernetes.NewForConfigOrDie(config),
		manager:    manager.Config(),
		kubectl:    env.ControlPlane.KubectlPath,
		kubeconfig: filepath.Join(t.TempDir(), "admin.kubeconfig"),
	}
	if err := os.WriteFile(c.kubeconfig, kubeconfig, 0o600); err != nil {
		t.Fatal(err)
	}
	c.createReader(t)
	return c
}

// createReader creates the ClusterRole that an installation ships.
func (c *cluster) createReader(t *testing.T) {
	t.Helper()
	_, err := c.admin.RbacV1().ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: readerRole},
		Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{""}, Resources: []string{"secrets", "configmaps"}, Verbs: []string{"get", "list", "watch"},
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

func (c *cluster) namespace(t *testing.T, name string) string {
	t.Helper()
	_, err := c.admin.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return name
}

func (c *cluster) secret(t *testing.T, ns string) {
	t.Helper()
	_, err := c.admin.CoreV1().Secrets(ns).Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "gh"}, StringData: map[string]string{"token": "one"},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

func (c *cluster) grant(t *testing.T, ns string) {
	t.Helper()
	if out, err := c.shell(GrantCommand(identity, ns)); err != nil {
		t.Fatalf("grant: %v: %s", err, out)
	}
}

func (c *cluster) revoke(t *testing.T, ns string) {
	t.Helper()
	if err := c.admin.RbacV1().RoleBindings(ns).Delete(t.Context(), readerRole, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// shell runs a command as a person would paste it.
func (c *cluster) shell(command string) ([]byte, error) {
	cmd := exec.Command("sh", "-c", command)
	cmd.Env = append(os.Environ(),
		"KUBECONFIG="+c.kubeconfig,
		"PATH="+filepath.Dir(c.kubectl)+string(os.PathListSeparator)+os.Getenv("PATH"))
	return cmd.CombinedOutput()
}

// subject is a running Tracker and what it woke.
type subject struct {
	tracker *Tracker
	mu      sync.Mutex
	woken   []types.NamespacedName
}

// track runs a Tracker under the manager's identity until the test ends, and checks that nothing of it is left.
func (c *cluster) track(t *testing.T, edits ...func(*Tracker)) *subject {
	t.Helper()
	before := goleak.IgnoreCurrent()
	s := &subject{}
	s.tracker = New(Options{
		Kube:     kubernetes.NewForConfigOrDie(c.manager),
		Metadata: metadata.NewForConfigOrDie(c.manager),
		Wake:     s.wake,
		Identity: identity,
		Recheck:  200 * time.Millisecond,
	})
	for _, edit := range edits {
		edit(s.tracker)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.tracker.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("run: %v", err)
		}
		// Connections belong to client-go, which keeps them open for all clients of one configuration.
		if err := goleak.Find(before, goleak.IgnoreAnyFunction(connection)); err != nil {
			t.Errorf("left behind: %v", err)
		}
	})
	return s
}

func (s *subject) wake(owner types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.woken = append(s.woken, owner)
}

// wakes returns who was woken since it was last asked.
func (s *subject) wakes() []types.NamespacedName {
	s.mu.Lock()
	defer s.mu.Unlock()
	woken := s.woken
	s.woken = nil
	return woken
}

func (s *subject) expectWake(g *WithT, owner types.NamespacedName, what string) {
	g.Eventually(s.wakes, patience, 10*time.Millisecond).Should(ContainElement(owner), what)
}

func (s *subject) expectValue(t *testing.T, g *WithT, ref Ref, want string) {
	t.Helper()
	value, _, err := s.tracker.Read(t.Context(), ref)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(value.Reveal()).To(Equal(want))
}
