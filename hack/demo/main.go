// Demo runs Mooring's main job on this machine: an embedded control plane, real MCP servers of several kinds, and the
// manager between them. It shows what kubectl shows, and with -check it also judges it.
//
// Everything listens on loopback. What the demo started, it stops, whatever happens.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/mooring-dev/mooring/hack/launch"
)

func main() {
	check := flag.Bool("check", false, "judge what is shown, and end with status 1 if anything is not as it should be")
	fleet := flag.Bool("fleet", false, "show a fleet in which every server fails in another way")
	stay := flag.Bool("stay", false, "keep everything running until Ctrl-C")
	bin := flag.String("bin", "bin", "where mooring, sample-server, kubectl, etcd and kube-apiserver are")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, options{*bin, *check, *stay, *fleet}); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	bin                string
	check, stay, fleet bool
}

func run(ctx context.Context, o options) (err error) {
	bin, err := filepath.Abs(o.bin)
	if err != nil {
		return err
	}
	state, err := filepath.Abs(filepath.Join(".mooring", "demo"))
	if err != nil {
		return err
	}
	unlock, err := lock(state + ".lock")
	if err != nil {
		return err
	}
	defer unlock()
	if err := os.RemoveAll(state); err != nil {
		return err
	}
	if err := os.MkdirAll(state, 0o700); err != nil {
		return err
	}
	return perform(ctx, &stage{Group: launch.Group{Dir: state}, bin: bin, state: state}, o)
}

// perform plays the whole demo on the stage, and clears it.
func perform(ctx context.Context, stage *stage, o options) (err error) {
	defer func() { err = errors.Join(err, stage.stop()) }()
	start := stage.startServers
	if o.fleet {
		start = stage.startFleet
	}
	servers, err := start(ctx)
	if err != nil {
		return err
	}
	if err := stage.startMooring(ctx); err != nil {
		return err
	}
	if err := stage.apply(ctx, servers); err != nil {
		return err
	}
	if err := stage.await(ctx, servers); err != nil {
		return err
	}
	if err := stage.show(ctx, servers); err != nil {
		return err
	}
	if o.check {
		return stage.judge(ctx, servers)
	}
	return stage.goOn(ctx, o)
}

// lock makes sure that no other demo uses the state; the lock ends with the process, however it ends.
func lock(path string) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = file.Close()
		return nil, errors.New("another demo runs in this directory; stop it first (Ctrl-C where it was started)")
	}
	return func() { _ = file.Close() }, nil
}
