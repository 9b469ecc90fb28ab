package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/catalog/render"
	"github.com/mooring-dev/mooring/internal/catalog/sessioncatalog"
)

// forms are the values of --output.
var forms = []string{"table", "json", "openai", "anthropic", "markdown"}

func newTools(in cluster) *cobra.Command {
	form := "table"
	cmd := &cobra.Command{
		Use:   "tools SESSION|SERVER",
		Short: "Show the tools that an agent session or a server offers",
		Long: `Shows the published catalog of an agent session, under the names that agents see, or of a server, under its own
names. What of a server's tools is denied or withheld is marked as such in the table, and not in the other forms.
Where both have the name, the agent session is shown; "server/NAME" and "session/NAME" say which.`,
		Example: "  mooring tools coder -n agents\n  mooring tools server/github -o openai",
		Args:    wantArgs("SESSION|SERVER"),
		RunE: func(cmd *cobra.Command, arguments []string) error {
			if !slices.Contains(forms, form) {
				return usageErrorf(cmd, "no output form %q; use one of %s", form, strings.Join(forms, ", "))
			}
			at, err := lookUp(cmd, in, arguments[0], sessionKind, serverKind)
			if err != nil {
				return err
			}
			noteManager(cmd, at)
			offered, err := at.offered()
			if err != nil {
				return err
			}
			if form != forms[0] && offered.note != "" {
				_, _ = fmt.Fprintln(cmd.ErrOrStderr(), offered.note)
			}
			return offered.print(cmd.OutOrStdout(), form)
		},
	}
	in.register(cmd.Flags())
	cmd.Flags().StringVarP(&form, "output", "o", form, "one of "+strings.Join(forms, ", "))
	return cmd
}

// shown is a catalog as it is to be printed: one tool object and one row for each tool.
type shown struct {
	document []byte
	tools    []json.RawMessage
	header   []string
	rows     [][]string
	errors   [][]string
	// note is what there is to say of what is not offered: below a table, and else beside the output.
	note string
}

// offered reads the catalog of the session or server.
func (l *lookup) offered() (*shown, error) {
	object, err := l.find()
	if err != nil {
		return nil, err
	}
	if session, ok := object.(*v1alpha1.AgentSession); ok {
		return l.sessionCatalog(session)
	}
	return l.serverCatalog(object.(*v1alpha1.MCPServer)) //nolint:forcetypeassert // there are two kinds
}

func (l *lookup) sessionCatalog(session *v1alpha1.AgentSession) (*shown, error) {
	if session.Status.Catalog == nil || session.Status.Catalog.ConfigMap == "" {
		return nil, l.unlisted(sessionKind, session.Status.Conditions)
	}
	object, err := l.configMap(session.Status.Catalog.ConfigMap)
	if err != nil {
		return nil, err
	}
	document, err := sessioncatalog.Decode(object.Data, object.BinaryData)
	if err != nil {
		return nil, fmt.Errorf("catalog in ConfigMap %s: %w", object.Name, err)
	}
	out := &shown{
		document: document.JSON(), tools: []json.RawMessage{}, header: []string{"TOOL", "SERVER", "RAW NAME", "DESCRIPTION"},
	}
	for _, slice := range document.Servers {
		for _, tool := range slice.Tools {
			out.tools = append(out.tools, tool.Entry)
			out.rows = append(out.rows, []string{tool.Name, slice.Name, tool.RawName, describe(tool.Entry)})
		}
	}
	for _, missing := range document.Errors {
		out.errors = append(out.errors, []string{missing.Server.Name, missing.Reason})
	}
	return out, nil
}

func (l *lookup) serverCatalog(server *v1alpha1.MCPServer) (*shown, error) {
	all, err := l.listing(server)
	if err != nil {
		return nil, err
	}
	out := &shown{tools: []json.RawMessage{}, header: []string{"TOOL", "DESCRIPTION"}, note: l.note(all)}
	if out.note != "" {
		out.header = []string{"TOOL", "NOT OFFERED", "DESCRIPTION"}
	}
	for _, tool := range all.Tools {
		row := []string{tool.Name, describe(tool.Definition)}
		why := all.notOffered[tool.Name]
		if out.note != "" {
			row = slices.Insert(row, 1, why)
		}
		if why == "" {
			out.tools = append(out.tools, tool.Definition)
		}
		out.rows = append(out.rows, row)
	}
	out.document, err = json.Marshal(out.tools)
	return out, err
}

// unlisted is the error that an object has no catalog, with what its condition Ready says of it.
func (l *lookup) unlisted(of *kind, conditions []metav1.Condition) error {
	reason := ""
	if ready := meta.FindStatusCondition(conditions, v1alpha1.ConditionReady); ready != nil &&
		ready.Status != metav1.ConditionTrue {
		reason = fmt.Sprintf(" (%s: %s)", ready.Reason, ready.Message)
	}
	return fmt.Errorf("%s %q has no catalog yet%s; `%s why %s/%s -n %s` tells more",
		of.name, l.Name, reason, l.program(), of.word, l.Name, l.Namespace)
}

// describe is the first line of a tool's description, shortened.
func describe(tool json.RawMessage) string {
	const longest = 60
	var said struct{ Title, Description string }
	_ = json.Unmarshal(tool, &said) // it was proven; a description of another type is none
	text := said.Description
	if text == "" {
		text = said.Title
	}
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	if runes := []rune(text); len(runes) > longest {
		text = string(runes[:longest-1]) + "…"
	}
	return text
}

// print writes the catalog in one of the forms.
func (s *shown) print(out io.Writer, form string) error {
	var text string
	switch form {
	case "table":
		return s.printTable(out)
	case "json":
		text = string(s.document)
	case "markdown":
		rendered, err := render.Markdown(s.tools)
		if err != nil {
			return err
		}
		text = rendered
	case "openai", "anthropic":
		to := map[string]func([]json.RawMessage) ([]byte, error){"openai": render.OpenAI, "anthropic": render.Anthropic}
		rendered, err := to[form](s.tools)
		if err != nil {
			return err
		}
		text = string(rendered)
	}
	_, err := fmt.Fprintln(out, strings.TrimRight(text, "\n"))
	return err
}

// printTable prints the tools, and below them what is not offered and the servers that have none to offer.
func (s *shown) printTable(out io.Writer) error {
	rows := newTable(s.header...)
	for _, row := range s.rows {
		rows.row(plain, row...)
	}
	if err := rows.write(out); err != nil {
		return err
	}
	if s.note != "" {
		if _, err := fmt.Fprintf(out, "\n%s\n", s.note); err != nil {
			return err
		}
	}
	if len(s.errors) == 0 {
		return nil
	}
	if _, err := fmt.Fprintln(out, "\nWithout tools:"); err != nil {
		return err
	}
	missing := newTable("SERVER", "REASON WHEN PUBLISHED")
	for _, row := range s.errors {
		missing.row(bad, row...)
	}
	return missing.write(out)
}
