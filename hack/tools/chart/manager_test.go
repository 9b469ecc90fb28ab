package chart

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// process is the manager as the Deployment in the cluster runs it: its arguments, under its service account.
type process struct {
	t       *testing.T
	cancel  context.CancelFunc
	ended   chan error
	stopped sync.Once

	mu   sync.Mutex
	text bytes.Buffer
}

func (p *process) Write(line []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(line)
}

func (p *process) logs() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

// stop ends the process as a kubelet does, and returns what it logged.
func (p *process) stop() string {
	p.stopped.Do(func() {
		p.cancel()
		if err := <-p.ended; err != nil {
			p.t.Errorf("manager: %v\n%s", err, p.logs())
		}
	})
	return p.logs()
}

func startManager(t *testing.T) *process {
	t.Helper()
	kube, err := kubernetes.NewForConfig(admin)
	if err != nil {
		t.Fatal(err)
	}
	deployed, err := kube.AppsV1().Deployments(namespace).Get(t.Context(), "mooring-manager", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	p := &process{t: t, cancel: cancel, ended: make(chan error, 1)}
	manager := exec.CommandContext(ctx, build(t), append(deployed.Spec.Template.Spec.Containers[0].Args,
		// Only a pod knows its namespace, and has ports of its own.
		"--leader-election-namespace="+namespace, "--metrics-bind-address=0", "--health-probe-bind-address=0")...)
	manager.Env = append(os.Environ(), "KUBECONFIG="+accountFile(t, kube, deployed))
	manager.Stdout, manager.Stderr = p, p
	manager.Cancel = func() error { return manager.Process.Signal(syscall.SIGTERM) }
	manager.WaitDelay = patience
	if err := manager.Start(); err != nil {
		cancel()
		t.Fatal(err)
	}
	go func() { p.ended <- exitOf(manager) }()
	t.Cleanup(func() { p.stop() })
	return p
}

// exitOf is the error of a process that did not end well; to have been told to end is none.
func exitOf(c *exec.Cmd) error {
	err := c.Wait()
	if c.ProcessState.Success() {
		return nil
	}
	return err
}

// build makes the manager from this repository.
func build(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "mooring")
	out, err := exec.Command("go", "build", "-C", "../../..", "-mod=readonly", "-buildvcs=false", "-o", binary, ".").
		CombinedOutput()
	if err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return binary
}

// accountFile is a kubeconfig of the Deployment's service account.
func accountFile(t *testing.T, kube kubernetes.Interface, d *appsv1.Deployment) string {
	t.Helper()
	account := d.Spec.Template.Spec.ServiceAccountName
	token, err := kube.CoreV1().ServiceAccounts(d.Namespace).CreateToken(t.Context(), account,
		&authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	err = clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{
			"": {Server: admin.Host, CertificateAuthorityData: admin.CAData},
		},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"": {Token: token.Status.Token}},
		Contexts:       map[string]*clientcmdapi.Context{"c": {}},
		CurrentContext: "c",
	}, file)
	if err != nil {
		t.Fatal(err)
	}
	return file
}
