package connect

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/refs"
)

// Hash is the config hash: it tells whether a stored catalog still describes the declared server. It covers what
// decides which tools a server shows: the transport, the address as declared, the names of headers and query keys, the
// protocol pin and the literal variables. Credentials, timeouts and filters do not change it, so rotating a token or
// editing a note never costs an agent its tools.
func Hash(spec *v1alpha1.MCPServerSpec) string {
	identity := struct {
		Transport, URL, Protocol, Pin string
		Headers, Query                []string
		Variables                     map[string]string
	}{Transport: Transport(spec), Pin: spec.ProtocolVersion, Variables: literalVariables(spec)}
	if http := spec.HTTP; http != nil {
		identity.URL, identity.Query = splitQuery(http.URL)
		identity.Protocol = string(http.TransportProtocol())
		for _, header := range http.Headers {
			identity.Headers = append(identity.Headers, strings.ToLower(header.Name))
		}
		slices.Sort(identity.Headers)
	}
	document, _ := json.Marshal(identity) // strings only: cannot fail
	sum := sha256.Sum256(document)
	return hex.EncodeToString(sum[:8])
}

// versionsHash is 16 hex characters that differ when other objects, or other versions of them, were read.
func versionsHash(versions map[refs.Ref]string) string {
	if len(versions) == 0 {
		return ""
	}
	var lines []string
	for reference, version := range versions {
		lines = append(lines, string(reference.Kind)+"/"+reference.Name+" "+version+"\n")
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(lines, "")))
	return hex.EncodeToString(sum[:8])
}

// splitQuery returns the address without its query, and the query's keys in order.
func splitQuery(raw string) (address string, keys []string) {
	address, query, _ := strings.Cut(raw, "?")
	for pair := range strings.SplitSeq(query, "&") {
		if key, _, _ := strings.Cut(pair, "="); key != "" {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return address, keys
}

// Target is the declared address as messages show it: scheme, host and path, variables unexpanded, no query.
func Target(spec *v1alpha1.MCPServerSpec) string {
	if spec.HTTP == nil {
		return ""
	}
	address, _, _ := strings.Cut(spec.HTTP.URL, "?")
	return address
}

// literalVariables are the variables whose values stand in the spec.
func literalVariables(spec *v1alpha1.MCPServerSpec) map[string]string {
	values := map[string]string{}
	for _, variable := range spec.Variables {
		if variable.ValueFrom == nil {
			values[variable.Name] = ptr.Deref(variable.Value, "")
		}
	}
	return values
}

// Transport is the word that status and the printed table have for the transport.
func Transport(spec *v1alpha1.MCPServerSpec) string {
	switch {
	case spec.HTTP == nil:
		return v1alpha1.TransportStdio
	case spec.HTTP.Protocol == v1alpha1.ProtocolSSE:
		return v1alpha1.TransportSSE
	default:
		return v1alpha1.TransportHTTP
	}
}
