package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/mooring-dev/mooring/internal/cli/devstate"
)

// Main runs the command line of this process and returns its exit status.
func Main() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root := newRoot(filepath.Base(os.Args[0]))
	root.SetContext(ctx)
	err := executeRoot(root)
	var (
		wrong  *usageError
		status *statusError
	)
	switch {
	case err == nil || errors.Is(err, context.Canceled) && ctx.Err() != nil:
		return 0
	case errors.As(err, &wrong):
		_, _ = fmt.Fprintf(os.Stderr, "error: %v\n%s\n", err, wrong.Hint())
		return usageStatus
	case errors.As(err, &status):
		_, _ = fmt.Fprintln(os.Stderr, status.text)
		return status.status
	default:
		_, _ = fmt.Fprintln(os.Stderr, "error:", err)
		return 1
	}
}

// newRoot returns the command tree. Installed as kubectl-mooring, it calls itself "kubectl mooring" in its help and its
// hints.
func newRoot(program string) *cobra.Command {
	root := &cobra.Command{
		Use:           "mooring",
		Short:         "Keep connections to MCP servers as Kubernetes resources",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	if strings.HasPrefix(program, "kubectl-") {
		setName(root, "kubectl mooring")
	}
	root.Version = versionLine()
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetHelpCommand(newHelp())
	root.AddCommand(newManager(), newGateway(), newRun(), newDev(), newGet(), newWhy(&clusterFlags{}),
		newReconnect(&clusterFlags{}), newTools(&clusterFlags{}), newCall(&clusterFlags{}),
		newDiff(&clusterFlags{}), newReload(&clusterFlags{}),
		newImport(), newVersion(), devstate.NewTether())
	return root
}

// version is set at link time for releases.
var version = ""

// buildVersion is the release, or the module version that Go recorded, or "dev".
func buildVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "dev"
}

// versionLine is the version, and what it was built with and for.
func versionLine() string {
	return fmt.Sprintf("mooring %s %s %s/%s", buildVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  wantArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), versionLine())
			return err
		},
	}
}
