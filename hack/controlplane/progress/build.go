package progress

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// Build is one run of `go build`.
type Build struct {
	// Label stands before each line that is shown, Name is what is built.
	Label, Name string
	// Go is the go command; empty is the one on PATH.
	Go string
	// Dir is where go is run; empty is here.
	Dir string
	// Arguments are those of `go build`.
	Arguments []string
}

// Run builds, without cgo, and shows how far it has come. Its error tells what the compiler said, or the cause of the
// context's end.
func (b *Build) Run(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, cmp.Or(b.Go, "go"), append([]string{"build", "-v"}, b.Arguments...)...)
	cmd.Dir = filepath.Clean(b.Dir)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 5 * time.Second
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	meter := Start(b.Label, "building "+b.Name)
	meter.Follow(stderr)
	err = cmd.Wait()
	switch {
	case ctx.Err() != nil:
		meter.Stop("stopped " + b.Name)
		return fmt.Errorf("build of %s: %w", b.Name, context.Cause(ctx))
	case err != nil:
		meter.Stop("failed to build " + b.Name)
		return fmt.Errorf("build of %s: %w\n%s", b.Name, err, meter.Rest())
	default:
		meter.Stop("built " + b.Name)
		return nil
	}
}
