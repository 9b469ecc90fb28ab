package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/aymanbagabas/go-udiff"
	"github.com/spf13/cobra"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/catalog"
)

func newDiff(in cluster) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "diff SERVER",
		Short: "Show what of a pinned server's tools is not as it was approved, tool by tool",
		Args:  wantArgs("SERVER"),
		RunE: func(cmd *cobra.Command, arguments []string) error {
			at, err := lookUp(cmd, in, arguments[0], serverKind)
			if err != nil {
				return err
			}
			noteManager(cmd, at)
			return at.diff(cmd.OutOrStdout())
		},
	}
	in.register(cmd.Flags())
	return cmd
}

func (l *lookup) diff(out io.Writer) error {
	object, err := l.find()
	if err != nil {
		return err
	}
	server := object.(*v1alpha1.MCPServer) //nolint:forcetypeassert // the kind that is looked for
	if server.Spec.PinPolicy() == v1alpha1.PinNone {
		return fmt.Errorf("MCPServer %q is not pinned, so no tools of it were approved; spec.tools.pin pins it", l.Name)
	}
	all, err := l.listing(server)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	switch all.approval.Withheld {
	case catalog.AwaitingApproval:
		fmt.Fprintf(&text, "%s: what is listed was not approved, and nothing was before; each tool is new\n\n", l.Name)
		printDrift(&text, catalog.Baseline{}.Drift(all.Catalog))
	case catalog.BaselineLost:
		fmt.Fprintf(&text, "%s: the record of what was approved is missing or was altered, so that each tool "+
			"is shown as new\n\n", l.Name)
		printDrift(&text, catalog.Baseline{}.Drift(all.Catalog))
	case catalog.ToolsChanged:
		printDrift(&text, all.approval.Drifted)
	default:
		fmt.Fprintf(&text, "%s: every tool is as it was approved\n", l.Name)
	}
	text.WriteString(ineffective(server, all))
	if all.approval.Withheld != "" {
		text.WriteString(l.approval(all.Digest))
	}
	_, err = text.WriteTo(out)
	return err
}

// printDrift prints each tool as a diff of its definition.
func printDrift(text *bytes.Buffer, drift []catalog.DriftedTool) {
	for _, tool := range drift {
		approved, now := indented(tool.Approved), indented(tool.Current)
		fmt.Fprintf(text, "%s (%s)\n%s\n", tool.Name, tool.Kind, udiff.Unified("approved", "now", approved, now))
	}
}

// ineffective tells of an approval that approves nothing, such as one that was given for a list that has changed since.
func ineffective(server *v1alpha1.MCPServer, all *listed) string {
	digest := catalog.Digest(server.Spec.Tools.ApprovedDigest)
	switch {
	case digest == "" || digest == all.Digest:
		return ""
	case all.approval.Baseline == nil:
		return fmt.Sprintf("spec.tools.approvedDigest approves nothing: %s is not what is listed now.\n", digest)
	case digest == all.approval.Baseline.Digest():
		return ""
	default:
		return fmt.Sprintf("spec.tools.approvedDigest approves nothing: %s is neither what is listed now nor what was "+
			"approved before.\n", digest)
	}
}

// approval is the command that approves what is listed now.
func (l *lookup) approval(digest catalog.Digest) string {
	return fmt.Sprintf("To approve what is listed now:\n"+
		"kubectl patch mcpserver %s -n %s --type merge -p '{\"spec\":{\"tools\":{\"approvedDigest\":\"%s\"}}}'\n",
		l.Name, l.Namespace, digest)
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
