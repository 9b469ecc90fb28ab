package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSeriesHasAWildPatchNumber(t *testing.T) {
	v := versions{kubernetes: "v1.37.2", etcd: "v3.7.3"}
	if got := v.series(); got != "1.37.x" {
		t.Errorf("series = %q, want 1.37.x", got)
	}
}

func TestPresentBelievesTheStamp(t *testing.T) {
	bin := t.TempDir()
	want := versions{kubernetes: "v1.37.2", etcd: "v3.7.3"}
	if err := leaveStamp(bin, want, "built from modules"); err != nil {
		t.Fatal(err)
	}
	if _, ok := present(t.Context(), bin, want); ok {
		t.Error("a stamp without programs counts as present")
	}
	for _, name := range []string{etcd, apiserver, kubectl} {
		if err := os.WriteFile(filepath.Join(bin, name), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	origin, ok := present(t.Context(), bin, want)
	if !ok || origin != "built from modules" {
		t.Errorf("present = %q, %v, want the stamp's origin", origin, ok)
	}
	if _, ok := present(t.Context(), bin, versions{kubernetes: "v1.38.0", etcd: "v3.7.3"}); ok {
		t.Error("programs of another version count as present")
	}
}

func TestPresentAsksProgramsWithoutStamp(t *testing.T) {
	bin := t.TempDir()
	for name, says := range map[string]string{
		etcd: "etcd Version: 3.7.3", apiserver: "Kubernetes v1.37.2", kubectl: "Client Version: v1.37.2",
	} {
		script := "#!/bin/sh\necho '" + says + "'\n"
		if err := os.WriteFile(filepath.Join(bin, name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if _, ok := present(t.Context(), bin, versions{kubernetes: "v1.37.1", etcd: "v3.7.3"}); ok {
		t.Error("programs of another version count as present")
	}
	want := versions{kubernetes: "v1.37.2", etcd: "v3.7.3"}
	if _, ok := present(t.Context(), bin, want); !ok {
		t.Error("programs of the wanted version do not count as present")
	}
	stamp, err := os.ReadFile(filepath.Join(bin, stampName))
	if err != nil || !strings.HasPrefix(string(stamp), want.String()+"\n") {
		t.Errorf("stamp = %q, %v, want one of %s", stamp, err, want)
	}
}

func TestUseAssetsNeedsNoKubectl(t *testing.T) {
	assets := t.TempDir()
	if err := useAssets(assets); err == nil {
		t.Error("an empty folder is accepted")
	}
	for _, name := range []string{etcd, apiserver} {
		if err := os.WriteFile(filepath.Join(assets, name), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := useAssets(assets); err != nil {
		t.Errorf("a folder without kubectl is refused: %v", err)
	}
}

func TestCauseIsTheEndOfTheChain(t *testing.T) {
	const chain = `unable to get index: Get "https://example.com/index.yaml": dial tcp: lookup example.com: no such host`
	if got := cause(chain); got != "no such host" {
		t.Errorf("cause = %q", got)
	}
	if got := cause("plain"); got != "plain" {
		t.Errorf("cause = %q", got)
	}
}
