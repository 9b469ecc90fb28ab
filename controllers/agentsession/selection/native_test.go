package selection_test

import (
	"strings"
	"testing"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/controllers/agentsession/selection"
	"github.com/mooring-dev/mooring/test/builder"
)

const filtered = v1alpha1.ServerFiltered

// Seed rule: Exa servers are filtered out, and their key is found for the native integration.
func TestSeedRule1_NativeIntegrations(t *testing.T) {
	http := func(url string) *builder.MCPServerBuilder {
		return builder.MCPServer("search").Namespace("agents").URL(url)
	}
	stdio := func(command ...string) *builder.MCPServerBuilder {
		return builder.MCPServer("search").Namespace("agents").Stdio("img", command...)
	}
	environment := func(variable v1alpha1.EnvVar) func(*v1alpha1.MCPServer) {
		return func(s *v1alpha1.MCPServer) { s.Spec.Stdio.Env = []v1alpha1.EnvVar{{Name: "X"}, variable} }
	}
	keyed := func(s *v1alpha1.MCPServer) { s.Spec.Tools = &v1alpha1.Tools{Allow: []string{"web_search_exa"}} }
	for name, c := range map[string]struct {
		server *builder.MCPServerBuilder
		state  string
		key    string // "secret/key"
	}{
		"by name": {
			builder.MCPServer("exa").Namespace("agents").URL("https://proxy.example/mcp"), filtered, "",
		},
		"by host":                           {http("https://MCP.exa.ai/mcp"), filtered, ""},
		"by a host that only looks like it": {http("https://mcp.exa.ai.example.com/mcp"), "", ""},
		"by an argument":                    {stdio("npx", "mcp-remote", "https://mcp.exa.ai/mcp"), filtered, ""},
		"another command":                   {stdio("npx", "mcp-remote", "https://exa.example/mcp"), "", ""},
		"asks for the native tool":          {http("https://mcp.exa.ai/mcp?tools=web_search_exa"), filtered, ""},
		"asks for more, in the query": {
			http("https://mcp.exa.ai/mcp?tools=web_search_exa,web_fetch_exa"), "", "",
		},
		"asks for more, by a flag": {stdio("exa-mcp", "--at=mcp.exa.ai", "--tools", "web_fetch_exa"), "", ""},
		"asks for more, by a flag with a value": {
			stdio("exa-mcp", "--at=mcp.exa.ai", "--tools=web_search_exa,web_fetch_exa"), "", "",
		},
		"asks for more, in an argument's URL": {stdio("mcp-remote", "https://mcp.exa.ai/mcp?a=b&tools=x"), "", ""},
		"asks for the native tool, by a flag": {stdio("exa-mcp", "mcp.exa.ai", "-tools", "Web_Search_Exa"), filtered, ""},
		"asks for more, by its filter":        {http("https://mcp.exa.ai/mcp").Allow("web_*"), "", ""},
		"asks for the native tool, by its filter": {
			http("https://mcp.exa.ai/mcp").Mutate(keyed), filtered, "",
		},
		"the key in the query": {
			http("https://mcp.exa.ai/mcp?exaApiKey=$(KEY)").SecretVariable("KEY", "exa", "key"), filtered, "exa/key",
		},
		"the key in the query, and more tools": {
			http("https://mcp.exa.ai/mcp?exaApiKey=$(KEY)&tools=x").SecretVariable("KEY", "exa", "key"), "", "exa/key",
		},
		"a variable in clear": {
			http("https://mcp.exa.ai/mcp?exaApiKey=$(KEY)").Variable("KEY", "abc"), filtered, "",
		},
		"the key in a header": {
			http("https://mcp.exa.ai/mcp").SecretHeader("X-Api-Key", "exa", "key"), filtered, "exa/key",
		},
		"the key in a header, by a variable": {
			http("https://mcp.exa.ai/mcp").Header("x-api-key", "$(KEY)").SecretVariable("KEY", "exa", "v"), filtered, "exa/v",
		},
		"the key as bearer": {http("https://mcp.exa.ai/mcp").Bearer("exa", "token"), filtered, "exa/token"},
		"the key in the environment": {
			stdio("exa-mcp", "mcp.exa.ai").Mutate(environment(v1alpha1.EnvVar{
				Name: "EXA_API_KEY", ValueFrom: builder.FromSecret("exa", "env"),
			})), filtered, "exa/env",
		},
		"the key in an argument": {
			stdio("mcp-remote", "https://mcp.exa.ai/mcp?exaApiKey=$(KEY)&x=y").SecretVariable("KEY", "exa", "arg"),
			filtered, "exa/arg",
		},
		"other environments say nothing": {
			stdio("exa-mcp", "mcp.exa.ai").Mutate(environment(v1alpha1.EnvVar{Name: "Y"})), filtered, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			result := selection.Resolve(world(c.server.Obj()), agent("a").Native(v1alpha1.NativeExa).Obj())
			if got := result.Choices[0].State; got != c.state {
				t.Errorf("state %q, want %q", got, c.state)
			}
			var keys []string
			for _, key := range result.NativeKeys {
				keys = append(keys, key.SecretKeyRef.Name+"/"+key.SecretKeyRef.Key)
				if key.Env != "EXA_API_KEY" {
					t.Errorf("for %q", key.Env)
				}
			}
			if got := strings.Join(keys, " "); got != c.key {
				t.Errorf("key %q, want %q", got, c.key)
			}
			if plain := selection.Resolve(world(c.server.Obj()), agent("a").Obj()); plain.Choices[0].State != "" {
				t.Error("it is left out though nobody asked for that")
			}
		})
	}
}

// Two servers of one key name it once; a key of another namespace cannot be mounted and is not named.
func TestNativeKeysAreNamedOnceAndOnlyWhereTheyCanBeMounted(t *testing.T) {
	one := declared("one").URL("https://mcp.exa.ai/mcp").Bearer("exa", "key").Obj()
	two := declared("two").URL("https://mcp.exa.ai/mcp").Bearer("exa", "key").Obj()
	far := builder.MCPServer("exa").Namespace("shared").URL("https://mcp.exa.ai/mcp").Bearer("far", "key").Mutate(
		func(s *v1alpha1.MCPServer) {
			s.Spec.AllowedNamespaces = &v1alpha1.AllowedNamespaces{From: v1alpha1.NamespacesAll}
		}).Obj()
	result := selection.Resolve(withForeign(world(one, two), far),
		agent("a").SelectAll().ForeignRef("shared", "exa").Native(v1alpha1.NativeExa).Obj())
	if len(result.NativeKeys) != 1 || result.NativeKeys[0].SecretKeyRef.Name != "exa" {
		t.Errorf("keys: %+v", result.NativeKeys)
	}
	for _, choice := range result.Choices {
		if choice.State != filtered || choice.Message != "the agent covers Exa natively, by spec.nativeIntegrations" {
			t.Errorf("%s: %+v", choice, choice)
		}
	}
}
