package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"
	"golang.org/x/term"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/catalog"
	"github.com/mooring-dev/mooring/internal/catalog/sessioncatalog"
	"github.com/mooring-dev/mooring/internal/gateway"
	"github.com/mooring-dev/mooring/internal/gateway/identity"
)

// The exit statuses of a call that ended without a good answer.
const (
	toolErrorStatus  = 3 // the tool itself said that it failed
	tryAgainStatus   = 4 // it was not carried out, and may be tried again
	noAnswerStatus   = 5 // it was refused, or nobody knows whether it was carried out
	tokenSeconds     = 600
	callStatusesHelp = `Exit status: 0 the tool answered, 3 it answered with an error, 4 the call was not carried out and
may be tried again, 5 it was refused or nobody knows whether it was carried out, 1 anything else.`
)

// statusError ends the program with a status of its own.
type statusError struct {
	status int
	text   string
}

// Error is what a person is told.
func (e *statusError) Error() string { return e.text }

// callOptions are the flags of `mooring call`.
type callOptions struct {
	arguments      []string
	json           string
	gateway        string
	serviceAccount string
}

func newCall(in cluster) *cobra.Command {
	o := &callOptions{}
	cmd := &cobra.Command{
		Use:   "call SESSION TOOL",
		Short: "Call a tool as an agent would, through the gateway",
		Long: `Calls a tool of an agent session through the gateway and prints what it answers. The gateway is that of the
session's status.endpoint, unless --gateway names another, such as the end of a port-forward. With --service-account the
call is made with a token of that service account, valid for 10 minutes, which you must be permitted to create; without,
it carries no token, which a gateway on loopback may take.

` + callStatusesHelp,
		Example: "  mooring call coder mcp_github_search_code --arg q=fixme -n agents --service-account coder\n" +
			`  mooring call coder mcp_fs_read --json '{"path":"/etc/hostname"}'`,
		Args: wantArgs("SESSION", "TOOL"),
		RunE: func(cmd *cobra.Command, arguments []string) error {
			at, err := lookUp(cmd, in, arguments[0], sessionKind)
			if err != nil {
				return err
			}
			return o.run(cmd, at, arguments[1])
		},
		ValidArgsFunction: func(cmd *cobra.Command, given []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return completeCall(cmd, in, given), cobra.ShellCompDirectiveNoFileComp
		},
	}
	in.register(cmd.Flags())
	cmd.Flags().StringArrayVar(&o.arguments, "arg", nil,
		"an argument as NAME=VALUE; a value that is JSON is taken as that, unless "+
			" the tool wants text")
	cmd.Flags().StringVar(&o.json, "json", "", "all arguments as a JSON object; - reads it from standard input")
	cmd.Flags().StringVar(&o.gateway, "gateway", "",
		"URL of the gateway, without a path (default: that of status.endpoint)")
	cmd.Flags().StringVar(&o.serviceAccount, "service-account", "", "service account of the namespace to call as")
	cmd.MarkFlagsMutuallyExclusive("arg", "json")
	return cmd
}

func (o *callOptions) run(cmd *cobra.Command, at *lookup, tool string) error {
	ctx := cmd.Context()
	object, err := at.find()
	if err != nil {
		return err
	}
	endpoint, err := o.endpoint(object.(*v1alpha1.AgentSession)) //nolint:forcetypeassert // the kind that is looked for
	if err != nil {
		return err
	}
	token, err := o.token(ctx, at)
	if err != nil {
		return err
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "mooring-call", Version: buildVersion()}, &mcp.ClientOptions{
		ProgressNotificationHandler: showProgress(cmd.ErrOrStderr()),
	})
	agent, err := client.Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint: endpoint, HTTPClient: &http.Client{Transport: &bearing{token: token}},
		DisableStandaloneSSE: true,
	}, nil)
	if err != nil {
		return fmt.Errorf("gateway at %s: %w", endpoint, err)
	}
	defer func() { _ = agent.Close() }()
	arguments, err := o.read(ctx, cmd, agent, tool)
	if err != nil {
		return err
	}
	params := &mcp.CallToolParams{Name: tool, Arguments: arguments}
	params.SetProgressToken("p")
	result, err := agent.CallTool(ctx, params)
	if err != nil {
		return &statusError{noAnswerStatus, err.Error()}
	}
	return printResult(cmd.OutOrStdout(), result)
}

// endpoint is where the session is served.
func (o *callOptions) endpoint(session *v1alpha1.AgentSession) (string, error) {
	if o.gateway != "" {
		return sessioncatalog.Endpoint(catalog.Ref{Namespace: session.Namespace, Name: session.Name}, o.gateway), nil
	}
	endpoint := session.Status.Endpoint
	at, err := url.Parse(endpoint)
	switch {
	case endpoint == "" || err != nil:
		return "", errors.New("the session has no status.endpoint, because the manager runs without --gateway-url; " +
			"give --gateway")
	case o.serviceAccount == "" && !isLoopback(at.Hostname()):
		return "", errors.New("the gateway wants a token; give --service-account")
	}
	return endpoint, nil
}

func isLoopback(host string) bool {
	address := net.ParseIP(host)
	return host == "localhost" || address != nil && address.IsLoopback()
}

// token is one of the service account; empty where none is named.
func (o *callOptions) token(ctx context.Context, at *lookup) (string, error) {
	if o.serviceAccount == "" {
		return "", nil
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: at.Namespace, Name: o.serviceAccount}}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		Audiences: []string{identity.Audience}, ExpirationSeconds: ptr.To[int64](tokenSeconds),
	}}
	if err := at.SubResource("token").Create(ctx, account, request); err != nil {
		return "", fmt.Errorf("token of service account %q: %w", o.serviceAccount, err)
	}
	return request.Status.Token, nil
}

// bearing adds a token to each request.
type bearing struct{ token string }

// RoundTrip implements http.RoundTripper.
func (b *bearing) RoundTrip(r *http.Request) (*http.Response, error) {
	if b.token != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+b.token)
	}
	return http.DefaultTransport.RoundTrip(r)
}

// showProgress tells on a terminal how far the call is.
func showProgress(out io.Writer) func(context.Context, *mcp.ProgressNotificationClientRequest) {
	file, ok := out.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return nil
	}
	return func(_ context.Context, request *mcp.ProgressNotificationClientRequest) {
		p := request.Params
		line := fmt.Sprint(p.Progress)
		if p.Total > 0 {
			line += fmt.Sprintf(" of %v", p.Total)
		}
		fmt.Fprintln(out, strings.TrimSpace(line+" "+p.Message))
	}
}

// read returns the arguments as a JSON object.
func (o *callOptions) read(
	ctx context.Context, cmd *cobra.Command, agent *mcp.ClientSession, tool string,
) (json.RawMessage, error) {
	if len(o.arguments) > 0 {
		return o.readEach(ctx, cmd, agent, tool)
	}
	text := cmp.Or(o.json, "{}")
	if text == "-" {
		all, err := io.ReadAll(cmd.InOrStdin())
		if err != nil {
			return nil, fmt.Errorf("standard input: %w", err)
		}
		text = strings.TrimSpace(string(all))
	}
	if !json.Valid([]byte(text)) || text[0] != '{' {
		return nil, usageErrorf(cmd, "--json must be a JSON object")
	}
	return json.RawMessage(text), nil
}

// readEach reads single arguments. What a value is, the tool's schema says.
func (o *callOptions) readEach(
	ctx context.Context, cmd *cobra.Command, agent *mcp.ClientSession, tool string,
) (json.RawMessage, error) {
	wantsText, err := textArguments(ctx, agent, tool)
	if err != nil {
		return nil, err
	}
	members := map[string]json.RawMessage{}
	for _, argument := range o.arguments {
		name, value, given := strings.Cut(argument, "=")
		if !given || name == "" {
			return nil, usageErrorf(cmd, "--arg %q is not NAME=VALUE", argument)
		}
		members[name] = json.RawMessage(value)
		if wantsText[name] || !json.Valid([]byte(value)) {
			members[name], _ = json.Marshal(value) // a string: cannot fail
		}
	}
	return json.Marshal(members)
}

// textArguments are the arguments of a tool that are strings.
func textArguments(ctx context.Context, agent *mcp.ClientSession, tool string) (map[string]bool, error) {
	list, err := agent.ListTools(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("list of tools: %w", err)
	}
	out := map[string]bool{}
	for _, offered := range list.Tools {
		if offered.Name != tool {
			continue
		}
		var schema struct {
			Properties map[string]struct{ Type any }
		}
		encoded, _ := json.Marshal(offered.InputSchema)
		_ = json.Unmarshal(encoded, &schema) // of another form: nothing is known of its arguments
		for name, property := range schema.Properties {
			out[name] = property.Type == "string"
		}
	}
	return out, nil
}

// printResult prints texts as they are and everything else as JSON, and tells what kind of answer it is.
func printResult(out io.Writer, result *mcp.CallToolResult) error {
	var text strings.Builder
	for _, content := range result.Content {
		if piece, ok := content.(*mcp.TextContent); ok {
			text.WriteString(piece.Text)
		} else if encoded, err := json.Marshal(content); err == nil {
			text.Write(encoded)
		}
		text.WriteByte('\n')
	}
	if len(result.Content) == 0 && result.StructuredContent != nil {
		encoded, err := json.Marshal(result.StructuredContent)
		if err != nil {
			return err
		}
		text.Write(append(encoded, '\n'))
	}
	if !result.IsError {
		_, err := io.WriteString(out, text.String())
		return err
	}
	failed := &statusError{toolErrorStatus, strings.TrimSpace(text.String())}
	if ours, ok := result.Meta[gateway.FailureKey].(map[string]any); ok {
		failed.status = noAnswerStatus
		if ours["retryable"] == true {
			failed.status = tryAgainStatus
		}
	}
	return failed
}

// completeCall offers sessions, then the tools of the one that was chosen. Where the cluster cannot be asked, it
// offers nothing.
func completeCall(cmd *cobra.Command, in cluster, given []string) []cobra.Completion {
	if len(given) == 0 {
		at, err := lookUp(cmd, in, "x", sessionKind)
		if err != nil {
			return nil
		}
		return at.namesOf(sessionKind)
	}
	at, err := lookUp(cmd, in, given[0], sessionKind)
	if err != nil || len(given) > 1 {
		return nil
	}
	offered, err := at.offered()
	if err != nil {
		return nil
	}
	out := make([]cobra.Completion, 0, len(offered.rows))
	for _, row := range offered.rows {
		out = append(out, cobra.CompletionWithDesc(row[0], row[len(row)-1]))
	}
	return out
}
