// Command golangci-lint is golangci-lint with the Kubernetes API linter compiled in. It is built from pinned modules
// because `golangci-lint custom` would have to clone a repository first.
package main

import (
	"fmt"
	"os"
	"runtime/debug"

	"github.com/golangci/golangci-lint/v2/pkg/commands"
	"github.com/golangci/golangci-lint/v2/pkg/exitcodes"

	// Registers the module plugin "kubeapilinter", which .golangci-kal.yml enables.
	_ "sigs.k8s.io/kube-api-linter"
)

// linter is the module whose version this program reports.
const linter = "github.com/golangci/golangci-lint/v2"

func main() {
	if err := commands.Execute(buildInfo()); err != nil {
		fmt.Fprintf(os.Stderr, "the command is terminated due to an error: %v\n", err)
		os.Exit(exitcodes.Failure)
	}
}

// buildInfo reports the version that the tool module pins.
func buildInfo() commands.BuildInfo {
	info := commands.BuildInfo{Version: "unknown", Commit: "unknown", Date: "unknown"}
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return info
	}
	info.GoVersion = build.GoVersion
	for _, dep := range build.Deps {
		if dep.Path == linter {
			info.Version, info.Commit = dep.Version, dep.Sum
		}
	}
	return info
}
