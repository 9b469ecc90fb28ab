package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const (
	// indexTimeout bounds the question whether the download site answers at all.
	indexTimeout = 20 * time.Second
	// downloadTimeout bounds the download itself (some 150 MB); a build is not much slower than that.
	downloadTimeout = 4 * time.Minute
)

// download fetches the programs of the wanted Kubernetes series by setup-envtest and puts them into the folder.
func download(ctx context.Context, bin, tools string, want versions) error {
	setup, err := buildSetup(ctx, bin, tools)
	if err != nil {
		return err
	}
	store := filepath.Join(bin, "envtest")
	list, err := runSetup(ctx, indexTimeout, setup, "list", want.series(), "--bin-dir", store)
	if err != nil {
		return err
	}
	if !strings.Contains(list, strings.TrimSuffix(want.series(), "x")) {
		return fmt.Errorf("no release of %s offered", want.series())
	}
	say("downloading kubernetes %s by setup-envtest", want.series())
	folder, err := runSetup(ctx, downloadTimeout, setup, "use", want.series(), "--bin-dir", store, "--print", "path")
	if err != nil {
		return err
	}
	for _, name := range []string{etcd, apiserver, kubectl} {
		if err := copyProgram(filepath.Join(bin, name), filepath.Join(folder, name)); err != nil {
			return err
		}
	}
	return nil
}

func buildSetup(ctx context.Context, bin, tools string) (string, error) {
	setup := filepath.Join(bin, "setup-envtest")
	cmd := exec.CommandContext(ctx, "go", "build", "-C", tools, "-mod=readonly", "-buildvcs=false", "-o", setup,
		"sigs.k8s.io/controller-runtime/tools/setup-envtest")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build of setup-envtest: %w: %s", err, lastLine(out))
	}
	return setup, nil
}

// runSetup runs setup-envtest and returns what it prints, without the white space around it.
func runSetup(ctx context.Context, timeout time.Duration, setup string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, setup, args...)
	out, err := cmd.Output()
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return "", fmt.Errorf("setup-envtest %s: no answer within %s", args[0], timeout)
	}
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = errors.New(lastLine(exit.Stderr))
		}
		return "", fmt.Errorf("setup-envtest %s: %w", args[0], err)
	}
	return strings.TrimSpace(string(out)), nil
}

// copyProgram replaces the file to by a copy of the file from, in one step: a program that runs keeps its own file.
func copyProgram(to, from string) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.CreateTemp(filepath.Dir(to), filepath.Base(to)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(target.Name())
	_, err = io.Copy(target, source)
	if err := errors.Join(err, target.Chmod(0o755), target.Close()); err != nil {
		return err
	}
	return os.Rename(target.Name(), to)
}

func lastLine(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[len(lines)-1]
}
