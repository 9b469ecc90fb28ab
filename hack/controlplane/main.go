package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

func main() {
	bin := flag.String("bin", "../../bin", "folder that receives the programs")
	tools := flag.String("tools", "../tools", "folder of the tool module, which pins setup-envtest")
	command := flag.String("go", "go", "the go command")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, toolchain(*command), *bin, *tools); err != nil {
		fmt.Fprintln(os.Stderr, "controlplane:", err)
		os.Exit(1) //nolint:gocritic // nothing but the signal handler is left to undo
	}
}

// toolchain is the go command that builds.
type toolchain string

// run makes sure that the programs are there, by the order that the package's documentation gives.
func run(ctx context.Context, command toolchain, bin, tools string) error {
	if assets := os.Getenv("KUBEBUILDER_ASSETS"); assets != "" {
		return useAssets(assets)
	}
	bin, err := filepath.Abs(bin)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return err
	}
	want, err := command.pinned(ctx)
	if err != nil {
		return err
	}
	if origin, ok := present(ctx, bin, want); ok {
		say("%s in %s (%s)", want, bin, origin)
		return nil
	}
	return command.obtain(ctx, bin, tools, want)
}

// useAssets accepts the folder that the user named, if it holds what tests cannot do without.
func useAssets(assets string) error {
	for _, name := range []string{etcd, apiserver} {
		if _, err := os.Stat(filepath.Join(assets, name)); err != nil {
			return fmt.Errorf("KUBEBUILDER_ASSETS names a folder without %s: %w", name, err)
		}
	}
	say("using KUBEBUILDER_ASSETS=%s", assets)
	return nil
}

// obtain downloads the programs or, where that cannot be, builds them; then it leaves the stamp.
func (t toolchain) obtain(ctx context.Context, bin, tools string, want versions) error {
	start := time.Now()
	origin := "downloaded by setup-envtest"
	if err := t.download(ctx, bin, tools, want); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		say("not downloaded (%v); building from modules, which takes minutes when the Go cache is cold", err)
		origin = "built from modules"
		if err := t.build(ctx, bin, want); err != nil {
			return err
		}
	}
	say("%s %s in %s", want, origin, time.Since(start).Round(time.Second))
	return leaveStamp(bin, want, origin)
}

// say prints one progress line.
func say(format string, args ...any) {
	fmt.Printf("controlplane: "+format+"\n", args...)
}
