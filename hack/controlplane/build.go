package main

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/mooring-dev/mooring/hack/controlplane/progress"
)

// versionPackage holds the variables by which Kubernetes' programs know their own version.
const versionPackage = "k8s.io/component-base/version"

// program is one program to build: its name in the folder, its package, its linker flags.
type program struct{ name, pkg, ldflags string }

// build builds the programs from their modules, the largest first.
func (t toolchain) build(ctx context.Context, bin string, want versions) error {
	major, rest, _ := strings.Cut(strings.TrimPrefix(want.kubernetes, "v"), ".")
	minor, _, _ := strings.Cut(rest, ".")
	stripped := "-s -w"
	kubernetes := strings.Join([]string{
		stripped,
		"-X", versionPackage + ".gitVersion=" + want.kubernetes,
		"-X", versionPackage + ".gitMajor=" + major,
		"-X", versionPackage + ".gitMinor=" + minor,
		"-X", versionPackage + ".gitTreeState=clean",
	}, " ")
	for _, p := range []program{
		{apiserver, "k8s.io/kubernetes/cmd/kube-apiserver", kubernetes},
		{kubectl, "k8s.io/kubernetes/cmd/kubectl", kubernetes},
		{etcd, "go.etcd.io/etcd/server/v3", stripped},
	} {
		if err := t.buildOne(ctx, bin, p); err != nil {
			return err
		}
	}
	return nil
}

func (t toolchain) buildOne(ctx context.Context, bin string, p program) error {
	build := progress.Build{Label: "controlplane", Name: p.name, Go: string(t), Arguments: []string{
		"-mod=readonly", "-buildvcs=false", "-ldflags", p.ldflags, "-o", filepath.Join(bin, p.name), p.pkg,
	}}
	return build.Run(ctx)
}
