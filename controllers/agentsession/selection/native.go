package selection

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/mooring-dev/mooring/api/v1alpha1"
)

// What is known of Exa: where its MCP server is, which of its tools agents have without MCP, and how its key is called.
const (
	exaName  = "exa"
	exaHost  = "mcp.exa.ai"
	exaTool  = "web_search_exa"
	exaQuery = "exaApiKey"
	exaEnv   = "EXA_API_KEY"
)

// leaveToAgent filters a server that offers nothing beyond what the agent does without MCP, and notes where the key of
// such a service stands, so that it can be mounted. A key in another namespace cannot.
func (r *Result) leaveToAgent(choice *Choice, session *v1alpha1.AgentSession) {
	if !slices.Contains(session.Spec.NativeIntegrations, v1alpha1.NativeExa) || !isExa(choice) {
		return
	}
	if key := exaKey(&choice.Server.Spec); key != nil && !choice.Foreign {
		native := v1alpha1.NativeKey{
			Env: exaEnv, SecretKeyRef: &v1alpha1.NativeKeySource{Name: key.Name, Key: key.Key},
		}
		same := func(k v1alpha1.NativeKey) bool { return *k.SecretKeyRef == *native.SecretKeyRef }
		if !slices.ContainsFunc(r.NativeKeys, same) {
			r.NativeKeys = append(r.NativeKeys, native)
		}
	}
	if !asksForMore(&choice.Server.Spec) {
		choice.filter("the agent covers Exa natively, by spec.nativeIntegrations")
	}
}

func isExa(choice *Choice) bool {
	spec := &choice.Server.Spec
	if choice.Name == exaName {
		return true
	}
	if spec.HTTP != nil {
		parsed, err := url.Parse(spec.HTTP.URL)
		return err == nil && strings.EqualFold(parsed.Hostname(), exaHost)
	}
	return slices.ContainsFunc(arguments(spec), func(argument string) bool {
		return strings.Contains(strings.ToLower(argument), exaHost)
	})
}

// arguments are those of a stdio server, its command's own included.
func arguments(spec *v1alpha1.MCPServerSpec) []string {
	if spec.Stdio == nil {
		return nil
	}
	return slices.Concat(spec.Stdio.Command, spec.Stdio.Args)
}

// asksForMore tells whether the declaration names tools that the agent does not have natively.
func asksForMore(spec *v1alpha1.MCPServerSpec) bool {
	var asked []string
	if spec.Tools != nil {
		asked = append(asked, spec.Tools.Allow...)
	}
	for _, list := range askedLists(spec) {
		asked = append(asked, strings.Split(list, ",")...)
	}
	return slices.ContainsFunc(asked, func(tool string) bool {
		tool = strings.TrimSpace(tool)
		return tool != "" && !strings.EqualFold(tool, exaTool)
	})
}

var (
	toolsFlag  = regexp.MustCompile(`(?i)^--?tools$`)
	toolsValue = regexp.MustCompile(`(?i)(?:^--?|[\s?&])tools=([^&\s]+)`)
)

// askedLists are the comma-separated lists of tools in the URL's query or a command's arguments.
func askedLists(spec *v1alpha1.MCPServerSpec) []string {
	var lists []string
	if spec.HTTP != nil {
		if parsed, err := url.Parse(spec.HTTP.URL); err == nil {
			lists = parsed.Query()["tools"]
		}
	}
	all := arguments(spec)
	for i, argument := range all {
		if toolsFlag.MatchString(argument) && i+1 < len(all) {
			lists = append(lists, all[i+1])
		}
		if found := toolsValue.FindStringSubmatch(argument); found != nil {
			lists = append(lists, found[1])
		}
	}
	return lists
}

// exaKey finds the Secret that holds the key: in the query of a URL, a header, the credential, or an environment.
func exaKey(spec *v1alpha1.MCPServerSpec) *v1alpha1.SecretKeyReference {
	if spec.HTTP != nil {
		return httpKey(spec)
	}
	if spec.Stdio == nil {
		return nil
	}
	for _, variable := range spec.Stdio.Env {
		if variable.Name == exaEnv {
			return behind(spec, variable.ValueFrom, ptr.Deref(variable.Value, ""))
		}
	}
	for _, argument := range arguments(spec) {
		if _, value, ok := strings.Cut(argument, exaQuery+"="); ok {
			value, _, _ = strings.Cut(value, "&")
			return behind(spec, nil, value)
		}
	}
	return nil
}

func httpKey(spec *v1alpha1.MCPServerSpec) *v1alpha1.SecretKeyReference {
	if parsed, err := url.Parse(spec.HTTP.URL); err == nil {
		if key := behind(spec, nil, parsed.Query().Get(exaQuery)); key != nil {
			return key
		}
	}
	for _, header := range spec.HTTP.Headers {
		if strings.EqualFold(header.Name, "x-api-key") {
			return behind(spec, header.ValueFrom, header.Value)
		}
	}
	if auth := spec.HTTP.Auth; auth != nil && auth.Bearer != nil {
		return &auth.Bearer.SecretKeyRef
	}
	return nil
}

// behind is where a value comes from: the reference itself, or that of the one variable which the text consists of.
func behind(spec *v1alpha1.MCPServerSpec, source *v1alpha1.ValueSource, text string) *v1alpha1.SecretKeyReference {
	if source != nil {
		return &source.SecretKeyRef
	}
	name, isVariable := strings.CutPrefix(text, "$(")
	name, closed := strings.CutSuffix(name, ")")
	for i := range spec.Variables {
		variable := &spec.Variables[i]
		if isVariable && closed && variable.Name == name && variable.ValueFrom != nil {
			return &variable.ValueFrom.SecretKeyRef
		}
	}
	return nil
}
