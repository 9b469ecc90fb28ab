package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/importer"
)

// mostInputBytes is the largest file that is read.
const mostInputBytes = 4 << 20

type importFlags struct {
	namespace, secrets, output, level, provider string
	names                                       []string
}

// newImport is the command that translates a client's file.
func newImport() *cobra.Command {
	f := &importFlags{}
	cmd := &cobra.Command{
		Use:   "import FILE|-",
		Short: "Translate a client's MCP configuration into manifests",
		Long: "Translate the MCP configuration of Claude Code, Claude Desktop, Cursor, VS Code and clients like them, or\n" +
			"a registry's server.json, into MCPServers and the Secrets that they need.\n\n" +
			"Manifests go to standard output; what was assumed or could not be translated is said on standard error.\n" +
			"Credentials in the file become Secrets. Values that the file only refers to are to be filled in.",
		Example: "  mooring import .mcp.json -n agents | kubectl apply -f -\n" +
			"  mooring import .vscode/mcp.json --secrets placeholder > servers.yaml\n" +
			"  mooring import server.json --name weather -o json",
		Args: wantArgs("FILE|-"),
		RunE: func(cmd *cobra.Command, arguments []string) error { return f.run(cmd, arguments[0]) },
	}
	set := cmd.Flags()
	set.StringVarP(&f.namespace, "namespace", "n", "", "namespace of the manifests (default: left to kubectl)")
	set.StringVar(&f.secrets, "secrets", "literal",
		"what Secrets hold: literal, the credentials of the file; placeholder, none")
	set.StringSliceVar(&f.names, "name", nil, "translate only the server of this name; may be given several times")
	set.StringVarP(&f.output, "output", "o", "yaml", "yaml or json")
	set.StringVar(&f.level, "level", "", "whose configuration it is, Project or User (default: told by the file's place)")
	set.StringVar(&f.provider, "provider", "", "where it comes from, such as cursor (default: told by the file)")
	return cmd
}

func (f *importFlags) run(cmd *cobra.Command, file string) error {
	if err := f.check(); err != nil {
		return wrongUse(cmd, err)
	}
	name, text, err := readInput(cmd.InOrStdin(), file)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	result, err := importer.Import(text, importer.Options{
		Origin: f.origin(file), Namespace: f.namespace, Names: f.names,
	})
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if f.secrets == "placeholder" {
		result.WithoutCredentials()
	}
	printNotes(cmd.ErrOrStderr(), result)
	if result.Translated() == 0 {
		return fmt.Errorf("%s: none of its servers could be translated", name)
	}
	write := result.YAML
	if f.output == "json" {
		write = result.JSON
	}
	manifests, err := write()
	if err != nil {
		return fmt.Errorf("manifests: %w", err)
	}
	_, err = cmd.OutOrStdout().Write(manifests)
	return err
}

// providerForm is what the API takes as spec.provider.
var providerForm = regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9 ._/@-]{0,63})?$`)

func (f *importFlags) check() error {
	switch {
	case f.secrets != "literal" && f.secrets != "placeholder":
		return fmt.Errorf("--secrets %q: not one of literal, placeholder", f.secrets)
	case f.output != "yaml" && f.output != "json":
		return fmt.Errorf("--output %q: not one of yaml, json", f.output)
	case len(validation.IsDNS1123Label(cmp.Or(f.namespace, "any"))) > 0:
		return fmt.Errorf("--namespace %q: at most %d of a-z, 0-9 and '-', with a letter or digit in front and at the end",
			f.namespace, validation.DNS1123LabelMaxLength)
	case f.level != "" && f.level != string(v1alpha1.LevelProject) && f.level != string(v1alpha1.LevelUser):
		return fmt.Errorf("--level %q: not one of Project, User", f.level)
	case !providerForm.MatchString(f.provider):
		return errors.New("--provider: at most 64 letters, digits, spaces and . _ / @ -, with a letter or digit in front")
	default:
		return nil
	}
}

// readInput returns what to call the file, and its text.
func readInput(stdin io.Reader, file string) (name string, text []byte, err error) {
	in := stdin
	if name = "standard input"; file != "-" {
		name = file
		opened, err := os.Open(filepath.Clean(file))
		if err != nil {
			return name, nil, withoutPath(err)
		}
		defer opened.Close()
		in = opened
	}
	text, err = io.ReadAll(io.LimitReader(in, mostInputBytes+1))
	if err == nil && len(text) > mostInputBytes {
		err = fmt.Errorf("more than %d MiB", mostInputBytes>>20)
	}
	return name, text, withoutPath(err)
}

// withoutPath is the error without the path, which is said anyway.
func withoutPath(err error) error {
	var about *fs.PathError
	if errors.As(err, &about) {
		return about.Err
	}
	return err
}

func (f *importFlags) origin(file string) importer.Origin {
	origin := importer.Origin{Provider: f.provider, Level: v1alpha1.Level(f.level)}
	if file == "-" {
		return origin
	}
	origin.Path = file
	if absolute, err := filepath.Abs(file); err == nil {
		origin.Path = absolute
	}
	if home, err := os.UserHomeDir(); err == nil {
		origin.Home = home
	}
	return origin
}
