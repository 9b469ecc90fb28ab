package agents

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/controllers/mcpserver"
	"github.com/mooring-dev/mooring/internal/catalog"
	"github.com/mooring-dev/mooring/internal/connect"
)

// listed is what a server listed last, and what of it is offered.
type listed struct {
	catalog.Catalog
	verdict catalog.Verdict
	// none says why nothing of it is offered, whatever was approved; empty otherwise.
	none string
	// notOffered says of a tool why it is not offered.
	notOffered map[string]string
}

// listing reads what a server listed last, and judges it as the manager does.
func (p place) listing(server *v1alpha1.MCPServer) (*listed, error) {
	if server.Status.Catalog == nil || server.Status.Catalog.ConfigMap == "" {
		return nil, p.unlisted(server)
	}
	object, err := p.configMap(server.Status.Catalog.ConfigMap)
	if err != nil {
		return nil, err
	}
	document, err := catalog.Decode(object.Data, object.BinaryData)
	if err != nil {
		return nil, fmt.Errorf("catalog in ConfigMap %s: %w", object.Name, err)
	}
	out := &listed{Catalog: document.Catalog}
	switch {
	case server.Spec.Disabled:
		out.none = disabled
	case document.ConfigHash != connect.Hash(&server.Spec):
		out.none = former
	}
	var found *catalog.Baseline
	if baseline, err := catalog.DecodeBaseline(object.Data, object.BinaryData); err == nil {
		found = &baseline
	}
	out.verdict = mcpserver.Approve(&server.Spec, server.Status.Catalog.PinnedDigest, found, out.Catalog)
	return out, out.judge(server)
}

// judge finds out why which tools are not offered.
func (l *listed) judge(server *v1alpha1.MCPServer) error {
	var allow, deny []string
	if tools := server.Spec.Tools; tools != nil {
		allow, deny = tools.Allow, tools.Deny
	}
	filter, err := catalog.NewFilter(allow, deny)
	if err != nil {
		return fmt.Errorf("spec.tools of %s: %w", server.Name, err)
	}
	kinds := map[string]string{}
	for _, tool := range l.verdict.Drifted {
		kinds[tool.Name] = ", " + strings.ToLower(string(tool.Kind))
	}
	l.notOffered = map[string]string{}
	for _, tool := range l.Tools {
		_, approved := l.verdict.Offered.Find(tool.Name)
		switch {
		case l.none != "":
			l.notOffered[tool.Name] = l.none
		case !filter.Allows(tool.Name):
			l.notOffered[tool.Name] = denied
		case !approved:
			l.notOffered[tool.Name] = withheld + cmp.Or(kinds[tool.Name], ", not approved")
		}
	}
	return nil
}

// Why a tool is not offered.
const (
	disabled = "disabled"
	former   = "former"
	denied   = "denied"
	withheld = "withheld"
)

// note sums up what is not offered, and says where there is more to read; it is empty when everything is.
func (p place) note(l *listed) string {
	if len(l.notOffered) == 0 {
		return ""
	}
	count := map[string]int{}
	for _, why := range l.notOffered {
		word, _, _ := strings.Cut(why, ",")
		count[word]++
	}
	var parts []string
	if n := count[disabled]; n > 0 {
		parts = append(parts, fmt.Sprintf("%d of a server that spec.disabled turns off", n))
	}
	if n := count[former]; n > 0 {
		parts = append(parts, fmt.Sprintf("%d listed under a former spec", n))
	}
	if n := count[denied]; n > 0 {
		parts = append(parts, fmt.Sprintf("%d denied by spec.tools", n))
	}
	if n := count[withheld]; n > 0 {
		parts = append(parts, fmt.Sprintf("%d withheld (`%s diff %s -n %s` tells more)", n, p.Program(), p.Name, p.Namespace))
	}
	return fmt.Sprintf("Not offered: %s.", strings.Join(parts, ", "))
}
