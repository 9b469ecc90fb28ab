package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

// lock is a package-lock.json of version 3.
type lock struct {
	packages []lockedPackage // by path
}

// lockedPackage is one entry of "packages". Its path is where it belongs, such as node_modules/a/node_modules/b.
type lockedPackage struct {
	path string

	Version   string `json:"version"`
	Integrity string `json:"integrity"`
	Optional  bool   `json:"optional"`
}

// name is the package's name, scope included.
func (p lockedPackage) name() string {
	const folder = "node_modules/"
	return p.path[strings.LastIndex(p.path, folder)+len(folder):]
}

func parseLock(raw []byte) (lock, error) {
	var file struct {
		LockfileVersion int                      `json:"lockfileVersion"`
		Packages        map[string]lockedPackage `json:"packages"`
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		return lock{}, err
	}
	if file.LockfileVersion != 3 {
		return lock{}, fmt.Errorf("lockfileVersion %d, want 3", file.LockfileVersion)
	}
	var l lock
	for path, p := range file.Packages {
		if path == "" {
			continue // the root: what is locked, not a package
		}
		p.path = path
		switch {
		case !strings.HasPrefix(path, "node_modules/") || !filepath.IsLocal(path):
			return lock{}, fmt.Errorf("package %q: not below node_modules", path)
		case p.Version == "":
			return lock{}, fmt.Errorf("package %q: no version", path)
		case !strings.HasPrefix(p.Integrity, sha512Prefix):
			return lock{}, fmt.Errorf("package %q: no sha512 integrity", path)
		}
		l.packages = append(l.packages, p)
	}
	if len(l.packages) == 0 {
		return lock{}, errors.New("no packages")
	}
	sort.Slice(l.packages, func(i, j int) bool { return l.packages[i].path < l.packages[j].path })
	return l, nil
}

// stampName is the file that says which lock the folder was filled from.
const stampName = ".lock-sha256"

func stampOf(raw []byte) string {
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:]) + "\n"
}

// stamped tells whether the folder holds the lock's packages and a Node that is still there.
func stamped(dir string, raw []byte) bool {
	if _, err := os.Stat(filepath.Join(dir, "node")); err != nil {
		return false
	}
	stamp, err := os.ReadFile(filepath.Join(dir, stampName))
	return err == nil && string(stamp) == stampOf(raw)
}

func leaveStamp(dir string, raw []byte) error {
	return os.WriteFile(filepath.Join(dir, stampName), []byte(stampOf(raw)), 0o644)
}
