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

	"github.com/mooring-dev/mooring/hack/controlplane/progress"
)

const (
	// indexTimeout bounds the question whether the download site answers at all.
	indexTimeout = 20 * time.Second
	// downloadTimeout bounds the download itself (some 150 MB); a build is not much slower than that.
	downloadTimeout = 4 * time.Minute
)

// download fetches the programs of the wanted Kubernetes series by setup-envtest and puts them into the folder.
func (t toolchain) download(ctx context.Context, bin, tools string, want versions) error {
	setup, err := t.buildSetup(ctx, bin, tools)
	if err != nil {
		return err
	}
	store := filepath.Join(bin, "envtest")
	meter := progress.Start("controlplane", "asking what can be downloaded")
	list, err := runSetup(ctx, indexTimeout, setup, "list", want.series(), "--bin-dir", store)
	meter.Stop("")
	if err != nil {
		return err
	}
	if !strings.Contains(list, strings.TrimSuffix(want.series(), "x")) {
		return fmt.Errorf("no release of %s offered", want.series())
	}
	meter = progress.Start("controlplane", "downloading kubernetes "+want.series()+" by setup-envtest")
	folder, err := runSetup(ctx, downloadTimeout, setup, "use", want.series(), "--bin-dir", store, "--print", "path")
	meter.Stop("")
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

func (t toolchain) buildSetup(ctx context.Context, bin, tools string) (string, error) {
	setup := filepath.Join(bin, "setup-envtest")
	build := progress.Build{
		Label: "controlplane", Name: "setup-envtest, which downloads", Go: string(t), Dir: tools, Arguments: []string{
			"-mod=readonly", "-buildvcs=false", "-o", setup, "sigs.k8s.io/controller-runtime/tools/setup-envtest",
		},
	}
	if err := build.Run(ctx); err != nil {
		return "", err
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
			err = errors.New(cause(lastLine(exit.Stderr)))
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

// cause is the end of a chain of errors: what it was in the first place.
func cause(chain string) string {
	links := strings.Split(chain, ": ")
	return links[len(links)-1]
}
