package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// tarballOf packs the files, each given as name and content.
func tarballOf(t *testing.T, files ...[2]string) []byte {
	t.Helper()
	var out bytes.Buffer
	compressed := gzip.NewWriter(&out)
	archive := tar.NewWriter(compressed)
	for _, file := range files {
		header := &tar.Header{Name: file[0], Size: int64(len(file[1])), Mode: 0o644, Typeflag: tar.TypeReg}
		if strings.Contains(file[0], "/bin/") {
			header.Mode = 0o755
		}
		if err := archive.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if _, err := archive.Write([]byte(file[1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	if err := compressed.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func integrityOf(tarball []byte) string {
	sum := sha512.Sum512(tarball)
	return sha512Prefix + base64.StdEncoding.EncodeToString(sum[:])
}

// serve serves tarballs by path and counts the requests.
func serve(t *testing.T, tarballs map[string][]byte) (url string, requests *atomic.Int32) {
	t.Helper()
	requests = new(atomic.Int32)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		tarball, ok := tarballs[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(tarball)
	}))
	t.Cleanup(server.Close)
	return server.URL, requests
}

// putNode puts a node of the version on PATH, and nothing else.
func putNode(t *testing.T, version string) string {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "node")
	if err := os.WriteFile(path, []byte("#!/bin/sh\necho "+version+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
	return path
}

func writeLock(t *testing.T, packages string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "package-lock.json")
	lock := fmt.Sprintf(`{"lockfileVersion": 3, "packages": {"": {"name": "root"}, %s}}`, packages)
	if err := os.WriteFile(path, []byte(lock), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func TestRunUnpacksScopedAndNestedPackagesOnce(t *testing.T) {
	outer := tarballOf(t, [2]string{"package/dist/index.js", "outer"})
	inner := tarballOf(t, [2]string{"other-name/index.js", "inner"})
	url, requests := serve(t, map[string][]byte{"/@a/b/-/b-1.2.3.tgz": outer, "/c/-/c-4.5.6.tgz": inner})
	lock := writeLock(t, fmt.Sprintf(`"node_modules/@a/b": {"version": "1.2.3", "integrity": %q},
		"node_modules/@a/b/node_modules/c": {"version": "4.5.6", "integrity": %q}`, integrityOf(outer), integrityOf(inner)))
	node := putNode(t, "v22.1.0")
	dir := filepath.Join(t.TempDir(), "assets")
	for range 2 {
		if err := run(t.Context(), lock, dir, url); err != nil {
			t.Fatal(err)
		}
	}
	if got := read(t, filepath.Join(dir, "node_modules/@a/b/dist/index.js")); got != "outer" {
		t.Errorf("outer package holds %q", got)
	}
	if got := read(t, filepath.Join(dir, "node_modules/@a/b/node_modules/c/index.js")); got != "inner" {
		t.Errorf("inner package holds %q", got)
	}
	if got, err := os.Readlink(filepath.Join(dir, "node")); err != nil || got != node {
		t.Errorf("node links to %q, %v, want %q", got, err, node)
	}
	if got := requests.Load(); got != 2 {
		t.Errorf("%d requests for two packages and two runs, want 2", got)
	}
}

func TestRunTakesNodeFromNpmWhereTheInstalledOneIsTooOld(t *testing.T) {
	putNode(t, "v18.20.0")
	tarball := tarballOf(t, [2]string{"package/bin/node", "#!node"})
	name := strings.TrimPrefix(nodePackage().path, "node_modules/")
	url, _ := serve(t, map[string][]byte{"/" + name + "/-/" + name + "-22.0.0.tgz": tarball})
	lock := writeLock(t, fmt.Sprintf(`"node_modules/%s": {"version": "22.0.0", "integrity": %q, "optional": true},
		"node_modules/node-plan9-mips": {"version": "22.0.0", "integrity": "sha512-AA==", "optional": true}`,
		name, integrityOf(tarball)))
	dir := filepath.Join(t.TempDir(), "assets")
	if err := run(t.Context(), lock, dir, url); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir, "node"))
	if err != nil || info.Mode()&0o111 == 0 {
		t.Errorf("node is %v, %v, want a program", info, err)
	}
	if got := read(t, filepath.Join(dir, "node")); got != "#!node" {
		t.Errorf("node holds %q", got)
	}
}

func TestRunRefusesATarballOfAnotherSum(t *testing.T) {
	putNode(t, "v22.1.0")
	url, _ := serve(t, map[string][]byte{"/c/-/c-1.0.0.tgz": tarballOf(t, [2]string{"package/index.js", "changed"})})
	pinned := integrityOf([]byte("pinned"))
	lock := writeLock(t, fmt.Sprintf(`"node_modules/c": {"version": "1.0.0", "integrity": %q}`, pinned))
	dir := filepath.Join(t.TempDir(), "assets")
	err := run(t.Context(), lock, dir, url)
	if err == nil || !strings.Contains(err.Error(), "c 1.0.0: tarball does not have the sha512 that the lock pins") {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "node_modules/c/index.js")); !os.IsNotExist(err) {
		t.Error("the tarball was unpacked")
	}
}

func TestFetchTriesAgainOnlyWhatMayPass(t *testing.T) {
	url, requests := serve(t, nil)
	if _, err := newRegistry(url).fetch(t.Context(), lockedPackage{path: "node_modules/c", Version: "1.0.0"}); err == nil {
		t.Error("a package that is not there was fetched")
	}
	if got := requests.Load(); got != 1 {
		t.Errorf("404 was asked for %d times, want 1", got)
	}
}

func TestFetchCountsWhatItReceives(t *testing.T) {
	tarball := tarballOf(t, [2]string{"package/index.js", "x"})
	url, _ := serve(t, map[string][]byte{"/c/-/c-1.0.0.tgz": tarball})
	from := newRegistry(url)
	pinned := lockedPackage{path: "node_modules/c", Version: "1.0.0", Integrity: integrityOf(tarball)}
	if _, err := from.fetch(t.Context(), pinned); err != nil {
		t.Fatal(err)
	}
	if got := from.received.Load(); got != int64(len(tarball)) {
		t.Errorf("%d bytes counted, want %d", got, len(tarball))
	}
}

func TestUnpackRefusesPathsThatLeadOut(t *testing.T) {
	for _, name := range []string{"package/../../evil", "package//etc/passwd", "evil"} {
		t.Run(name, func(t *testing.T) {
			if err := unpack(tarballOf(t, [2]string{name, "x"}), filepath.Join(t.TempDir(), "p")); err == nil {
				t.Error("the path was accepted")
			}
		})
	}
}

func TestParseLockRefuses(t *testing.T) {
	for name, packages := range map[string]string{
		"no integrity":   `"node_modules/a": {"version": "1.0.0"}`,
		"weak integrity": `"node_modules/a": {"version": "1.0.0", "integrity": "sha1-x"}`,
		"no version":     `"node_modules/a": {"integrity": "sha512-x"}`,
		"path outside":   `"node_modules/../../a": {"version": "1.0.0", "integrity": "sha512-x"}`,
		"workspace":      `"packages/a": {"version": "1.0.0", "integrity": "sha512-x"}`,
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := parseLock([]byte(`{"lockfileVersion": 3, "packages": {` + packages + `}}`)); err == nil {
				t.Error("the lock was accepted")
			}
		})
	}
}
