// Command gobuild is `go build` that shows how far it has come, for builds that are silent for minutes otherwise:
//
//	gobuild -label mooring -name bin/mooring -dir ../.. -- -o bin/mooring .
//
// It is in this module because here it needs nothing but the standard library: no other module has to be there.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/mooring-dev/mooring/hack/controlplane/progress"
)

func main() {
	build := progress.Build{}
	flag.StringVar(&build.Label, "label", "build", "what stands before each line")
	flag.StringVar(&build.Name, "name", "", "what is built")
	flag.StringVar(&build.Go, "go", "go", "the go command")
	flag.StringVar(&build.Dir, "dir", ".", "folder in which go is run")
	flag.Parse()
	build.Arguments = flag.Args()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := build.Run(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", build.Label, err)
		os.Exit(1) //nolint:gocritic // nothing but the signal handler is left to undo
	}
}
