package agents

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/aymanbagabas/go-udiff"
	"github.com/spf13/cobra"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/catalog"
	"github.com/mooring-dev/mooring/internal/cli/explain"
	"github.com/mooring-dev/mooring/internal/cli/subject"
	"github.com/mooring-dev/mooring/internal/cli/usage"
)

// Diff returns the command "diff".
func Diff(cluster subject.Cluster) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "diff SERVER",
		Short: "Show what of a pinned server's tools is not as it was approved, tool by tool",
		Args:  usage.Args("SERVER"),
		RunE: func(cmd *cobra.Command, arguments []string) error {
			at, err := find(cmd, cluster, arguments[0], subject.Server)
			if err != nil {
				return err
			}
			at.Note(explain.LastKnown)
			return at.diff(cmd.OutOrStdout())
		},
	}
	cluster.Register(cmd.Flags())
	return cmd
}

func (p place) diff(out io.Writer) error {
	server, err := p.Server()
	if err != nil {
		return err
	}
	switch {
	case server == nil:
		return p.None()
	case server.Status.Catalog == nil || server.Status.Catalog.ConfigMap == "":
		return p.unlisted(server)
	}
	object, err := p.configMap(server.Status.Catalog.ConfigMap)
	if err != nil {
		return err
	}
	current, err := catalog.Decode(object.Data, object.BinaryData)
	if err != nil {
		return fmt.Errorf("catalog in ConfigMap %s: %w", object.Name, err)
	}
	if server.Spec.PinPolicy() == v1alpha1.PinNone {
		return fmt.Errorf("MCPServer %q is not pinned, so no tools of it were approved; spec.tools.pin pins it", p.Name)
	}
	baseline, err := catalog.DecodeBaseline(object.Data, object.BinaryData)
	if err != nil {
		return fmt.Errorf("approved tools of %s: %w; set spec.tools.approvedDigest to %s to approve what is listed now",
			p.Name, err, current.Catalog.Digest)
	}
	return printDrift(out, p.Name, baseline.Drift(current.Catalog), current.Catalog.Digest)
}

// printDrift prints each drifted tool as a diff of its definition, and how to approve all of them.
func printDrift(out io.Writer, server string, drift []catalog.DriftedTool, digest catalog.Digest) error {
	if len(drift) == 0 {
		_, err := fmt.Fprintf(out, "%s: every tool is as it was approved\n", server)
		return err
	}
	var text bytes.Buffer
	for _, tool := range drift {
		approved, now := indented(tool.Approved), indented(tool.Current)
		fmt.Fprintf(&text, "%s (%s)\n%s\n", tool.Name, tool.Kind, udiff.Unified("approved", "now", approved, now))
	}
	fmt.Fprintf(&text, "To approve this, set spec.tools.approvedDigest of MCPServer %s to:\n%s\n", server, digest)
	_, err := text.WriteTo(out)
	return err
}

// indented lays a definition out in lines, so that a diff shows the one that changed.
func indented(definition json.RawMessage) string {
	if definition == nil {
		return ""
	}
	var out bytes.Buffer
	if err := json.Indent(&out, definition, "", "  "); err != nil {
		return string(definition) + "\n" // it was proven to be JSON; show it whole
	}
	return out.String() + "\n"
}
