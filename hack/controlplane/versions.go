package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// The programs.
const (
	etcd      = "etcd"
	apiserver = "kube-apiserver"
	kubectl   = "kubectl"
)

// stampName is the file that says what the folder holds: the versions on its first line, their origin on its second.
const stampName = ".controlplane"

// versions are the module versions of the programs, such as v1.37.2 and v3.7.3.
type versions struct{ kubernetes, etcd string }

func (v versions) String() string { return "kubernetes " + v.kubernetes + ", etcd " + v.etcd }

// series is the Kubernetes version with a wild patch number, such as 1.37.x: the form that setup-envtest selects by.
func (v versions) series() string {
	version := strings.TrimPrefix(v.kubernetes, "v")
	return version[:strings.LastIndex(version, ".")] + ".x"
}

// pinned reads the versions that this module's go.mod requires.
func (t toolchain) pinned(ctx context.Context) (versions, error) {
	kubernetes, err := t.moduleVersion(ctx, "k8s.io/kubernetes")
	if err != nil {
		return versions{}, err
	}
	store, err := t.moduleVersion(ctx, "go.etcd.io/etcd/server/v3")
	if err != nil {
		return versions{}, err
	}
	return versions{kubernetes: kubernetes, etcd: store}, nil
}

func (t toolchain) moduleVersion(ctx context.Context, module string) (string, error) {
	list := exec.CommandContext(ctx, string(t), "list", "-mod=readonly", "-m", "-f", "{{.Version}}", module)
	out, err := list.Output()
	if err != nil {
		return "", fmt.Errorf("version of %s: %w", module, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// present tells whether the folder holds the wanted versions, and where they came from.
func present(ctx context.Context, bin string, want versions) (origin string, ok bool) {
	for _, name := range []string{etcd, apiserver, kubectl} {
		info, err := os.Stat(filepath.Join(bin, name))
		if err != nil || info.Mode()&0o111 == 0 {
			return "", false
		}
	}
	stamp, err := os.ReadFile(filepath.Join(bin, stampName))
	if err == nil {
		have, from, _ := strings.Cut(strings.TrimSpace(string(stamp)), "\n")
		return from, have == want.String()
	}
	if !reports(ctx, filepath.Join(bin, apiserver), want.kubernetes, "--version") ||
		!reports(ctx, filepath.Join(bin, kubectl), want.kubernetes, "version", "--client") ||
		!reports(ctx, filepath.Join(bin, etcd), strings.TrimPrefix(want.etcd, "v"), "--version") {
		return "", false
	}
	origin = "found there"
	return origin, leaveStamp(bin, want, origin) == nil
}

// reports tells whether the program names the version when asked for it.
func reports(ctx context.Context, program, version string, args ...string) bool {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, program, args...).Output()
	return err == nil && strings.Contains(string(out)+"\n", version+"\n")
}

func leaveStamp(bin string, have versions, origin string) error {
	return os.WriteFile(filepath.Join(bin, stampName), []byte(have.String()+"\n"+origin+"\n"), 0o644)
}
