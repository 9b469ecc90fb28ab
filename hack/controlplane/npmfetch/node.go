package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// leastNode is the least major version of Node that the packages run on.
const leastNode = 20

// nodePackage is the npm package that holds Node for this machine.
func nodePackage() lockedPackage {
	arch := runtime.GOARCH
	if arch == "amd64" {
		arch = "x64"
	}
	return lockedPackage{path: "node_modules/node-" + runtime.GOOS + "-" + arch}
}

// selectPackages leaves out the packages that hold Node, but for the one that this machine needs. node is the
// installed Node, or empty when the package's is to be used.
func selectPackages(l lock, installed string) (packages []lockedPackage, node string, err error) {
	need := nodePackage().path
	var found bool
	for _, p := range l.packages {
		if !p.Optional || !strings.HasPrefix(p.name(), "node-") {
			packages = append(packages, p)
			continue
		}
		if p.path == need && installed == "" {
			found = true
			packages = append(packages, p)
		}
	}
	if installed == "" && !found {
		return nil, "", fmt.Errorf("no node of version %d or later on PATH, and the lock pins none for %s/%s: install Node",
			leastNode, runtime.GOOS, runtime.GOARCH)
	}
	return packages, installed, nil
}

// installedNode returns the path of the Node on PATH, or nothing when there is none or it is too old.
func installedNode(ctx context.Context) string {
	path, err := exec.LookPath("node")
	if err != nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	version, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil || majorOf(string(version)) < leastNode {
		return ""
	}
	if path, err = filepath.Abs(path); err != nil {
		return ""
	}
	return path
}

// majorOf returns the major number of a version such as v22.1.0, and 0 for what is no version.
func majorOf(version string) int {
	major, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(version), "v"), ".")
	number, err := strconv.Atoi(major)
	if err != nil {
		return 0
	}
	return number
}

// link makes dir/node the Node to use.
func link(node, dir string) error {
	return os.Symlink(node, filepath.Join(dir, "node"))
}
