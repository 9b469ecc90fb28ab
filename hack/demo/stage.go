package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/mooring-dev/mooring/hack/launch"
)

// stage is what runs during a demo.
type stage struct {
	launch.Group
	bin, state string
	fakes      fakes
}

// stop ends all that runs.
func (s *stage) stop() error {
	defer s.fakes.close()
	return s.Stop()
}

// startMooring runs the embedded control plane and the manager.
func (s *stage) startMooring(ctx context.Context) error {
	assets := s.bin
	if own := os.Getenv("KUBEBUILDER_ASSETS"); own != "" {
		assets = own
	}
	fmt.Println("starting etcd, kube-apiserver and the manager ...")
	command := exec.Command(filepath.Join(s.bin, "mooring"), "dev", "--dir", s.state, "--assets", assets,
		"--metrics-bind-address=127.0.0.1:0", "--health-probe-bind-address=0", "--gateway-bind-address=127.0.0.1:0")
	_, err := s.Start(ctx, "mooring", "kubeconfig:", command)
	return err
}

// kubectl runs kubectl against the demo's control plane and returns what it printed.
func (s *stage) kubectl(ctx context.Context, input string, arguments ...string) (string, error) {
	command := exec.CommandContext(ctx, s.kubectlPath(), arguments...)
	command.Env = append(os.Environ(), "KUBECONFIG="+filepath.Join(s.state, "kubeconfig"))
	command.Stdin = strings.NewReader(input)
	out, err := command.CombinedOutput()
	if err != nil {
		return string(out), fmt.Errorf("kubectl %s: %w\n%s", strings.Join(arguments, " "), err, out)
	}
	return string(out), nil
}

// kubectlPath is the pinned kubectl, or the one of the path where the control plane is the user's own.
func (s *stage) kubectlPath() string {
	for _, dir := range []string{s.bin, os.Getenv("KUBEBUILDER_ASSETS")} {
		path := filepath.Join(dir, "kubectl")
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return "kubectl"
}

// closedPort returns a loopback address that refuses connections.
func closedPort() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}
