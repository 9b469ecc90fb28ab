package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mooring-dev/mooring/hack/controlplane/progress"
)

// atOnce is the number of packages fetched at the same time.
const atOnce = 8

func main() {
	lockFile := flag.String("lock", "../node-assets/package-lock.json", "the package-lock.json that pins the packages")
	dir := flag.String("dir", "../../bin/node-assets", "folder that receives node_modules and the link node")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *lockFile, *dir, registryFromEnv()); err != nil {
		fmt.Fprintln(os.Stderr, "node-assets:", err)
		os.Exit(1)
	}
}

// run makes the folder hold what the lock pins, and a Node to run it with.
func run(ctx context.Context, lockFile, dir, registry string) error {
	raw, err := os.ReadFile(lockFile)
	if err != nil {
		return err
	}
	pins, err := parseLock(raw)
	if err != nil {
		return fmt.Errorf("%s: %w", lockFile, err)
	}
	dir, err = filepath.Abs(dir)
	if err != nil {
		return err
	}
	if stamped(dir, raw) {
		fmt.Printf("node-assets: in %s already\n", dir)
		return nil
	}
	start := time.Now()
	installed := installedNode(ctx)
	wanted, node, err := selectPackages(pins, installed)
	if err != nil {
		return err
	}
	fmt.Printf("node-assets: fetching %d packages\n", len(wanted))
	if err := install(ctx, newRegistry(registry), wanted, dir); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return err
	}
	if node == "" {
		node = filepath.Join(dir, nodePackage().path, "bin", "node")
	}
	if err := errors.Join(link(node, dir), leaveStamp(dir, raw)); err != nil {
		return err
	}
	fmt.Printf("node-assets: %d packages in %s after %s; node is %s\n",
		len(wanted), dir, time.Since(start).Round(100*time.Millisecond), node)
	return nil
}

// install replaces the folder's node_modules by the packages.
func install(ctx context.Context, from *registry, packages []lockedPackage, dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	var unpacked atomic.Int32
	meter := progress.Start("node-assets", "fetching")
	defer meter.Stop("")
	meter.Tell(func() string {
		return fmt.Sprintf("%d of %d packages, %.1f MB", unpacked.Load(), len(packages), float64(from.received.Load())/1e6)
	})
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for _, p := range packages {
		group.Go(func() error {
			tarball, err := from.fetch(ctx, p)
			if err != nil {
				return fmt.Errorf("%s %s: %w", p.name(), p.Version, err)
			}
			if err := unpack(tarball, filepath.Join(dir, filepath.FromSlash(p.path))); err != nil {
				return fmt.Errorf("%s %s: %w", p.name(), p.Version, err)
			}
			unpacked.Add(1)
			return nil
		})
	}
	return group.Wait()
}
