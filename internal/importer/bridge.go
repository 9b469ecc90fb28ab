package importer

import (
	"errors"
	"slices"
	"strings"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/importer/credential"
)

// bridgePackage is a program that clients without HTTP run in front of a remote server. Behind it is what is meant.
const bridgePackage = "mcp-remote"

// bridgeArguments returns the words behind mcp-remote, if that is what a command runs, through whatever runner.
func bridgeArguments(command []string) ([]string, bool) {
	for i, word := range command {
		name, _, _ := strings.Cut(program(word), "@")
		switch {
		case name == bridgePackage:
			return command[i+1:], true
		case i > 4:
			return nil, false
		}
	}
	return nil, false
}

// bridgeFlags are the flags of mcp-remote that have a value.
var bridgeFlags = words("--header --transport --host --ignore-tool --auth-timeout --resource --callback-path " +
	"--static-oauth-client-metadata --static-oauth-client-info")

// bridge translates a remote server behind mcp-remote.
func (e *clientEntry) bridge(arguments []string, environment []pair) error {
	e.scope.Env = map[string]template{}
	for _, v := range environment {
		e.scope.Env[v.name] = v.value
	}
	r := &remote{binder: e.binder}
	e.bridgeArguments(r, arguments)
	if r.url == nil {
		return errors.New("it runs " + bridgePackage + " without a url")
	}
	e.say("%s is not needed: the server behind it is reached at its url", bridgePackage)
	for _, v := range environment {
		uses := func(word string) bool {
			return strings.Contains(word, "${"+v.name+"}") || strings.Contains(word, "${"+v.name+":")
		}
		if !slices.ContainsFunc(arguments, uses) {
			e.say("env %s is left out: it is for %s", credential.Show(v.name), bridgePackage)
		}
	}
	if err := r.translate(); err != nil {
		return err
	}
	if r.spec.HTTP.Auth == nil && len(r.spec.HTTP.Headers) == 0 && len(r.spec.Variables) == 0 {
		e.say("%s may have signed in with a browser, which Mooring does not: if the server asks for it, set spec.http.auth",
			bridgePackage)
	}
	return nil
}

// bridgeArguments reads the flags and the URL. What follows the URL is a port for signing in.
func (e *clientEntry) bridgeArguments(r *remote, arguments []string) {
	for i := 0; i < len(arguments); i++ {
		flag, content, attached := strings.Cut(arguments[i], "=")
		if !strings.HasPrefix(flag, "-") {
			if r.url == nil {
				r.url = e.scope.parse(arguments[i])
			}
			continue
		}
		if bridgeFlags[flag] && !attached && i+1 < len(arguments) {
			i++
			content = arguments[i]
		}
		e.bridgeFlag(r, flag, content)
	}
}

func (e *clientEntry) bridgeFlag(r *remote, flag, content string) {
	switch flag {
	case "--header":
		name, rest, found := strings.Cut(content, ":")
		if !found {
			e.say("a header is left out: it has no name")
			return
		}
		r.headers = append(r.headers, pair{name: strings.TrimSpace(name), value: e.scope.parse(rest)})
	case "--transport":
		switch content {
		case "http-only":
			r.protocol = v1alpha1.ProtocolStreamableHTTP
		case "sse-only":
			r.protocol = v1alpha1.ProtocolSSE
		}
	case "--ignore-tool":
		e.filter(nil, []string{content})
	case "--enable-proxy":
		e.say("%s is not carried over: set spec.http.proxyURL", flag)
	case "--static-oauth-client-metadata", "--static-oauth-client-info", "--resource":
		e.say("%s is not carried over: nobody is there to sign in; see spec.http.auth", flag)
	}
}
