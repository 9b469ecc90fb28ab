package cli

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
	approval catalog.Verdict
	// notOffered says of a tool why it is not offered, counts how many are not for which cause.
	notOffered map[string]string
	counts     map[cause]int
}

// cause is why a tool is not offered.
type cause string

const (
	disabled cause = "disabled"
	former   cause = "former"
	denied   cause = "denied"
	withheld cause = "withheld"
)

// listing reads what a server listed last, and judges it as the manager does: what it says is offered is what agents
// get. Whether the list has expired, which new agent sessions alone feel, is for the command why to tell.
func (l *lookup) listing(server *v1alpha1.MCPServer) (*listed, error) {
	if server.Status.Catalog == nil || server.Status.Catalog.ConfigMap == "" {
		return nil, l.unlisted(serverKind, server.Status.Conditions)
	}
	object, err := l.configMap(server.Status.Catalog.ConfigMap)
	if err != nil {
		return nil, err
	}
	document, err := catalog.Decode(object.Data, object.BinaryData)
	if err != nil {
		return nil, fmt.Errorf("catalog in ConfigMap %s: %w", object.Name, err)
	}
	var found *catalog.Baseline
	if baseline, err := catalog.DecodeBaseline(object.Data, object.BinaryData); err == nil {
		found = &baseline
	}
	out := &listed{Catalog: document.Catalog, notOffered: map[string]string{}, counts: map[cause]int{}}
	out.approval = mcpserver.Approve(&server.Spec, server.Status.Catalog.PinnedDigest, found, out.Catalog)
	return out, out.judge(server, document.ConfigHash)
}

// judge finds out which tools are not offered, and why.
func (l *listed) judge(server *v1alpha1.MCPServer, configHash string) error {
	var allow, deny []string
	if tools := server.Spec.Tools; tools != nil {
		allow, deny = tools.Allow, tools.Deny
	}
	filter, err := catalog.NewFilter(allow, deny)
	if err != nil {
		return fmt.Errorf("spec.tools of %s: %w", server.Name, err)
	}
	kinds := map[string]string{}
	for _, tool := range l.approval.Drifted {
		kinds[tool.Name] = strings.ToLower(string(tool.Kind))
	}
	for _, tool := range l.Tools {
		_, approved := l.approval.Offered.Find(tool.Name)
		switch {
		case server.Spec.Disabled:
			l.leaveOut(tool.Name, disabled, "")
		case configHash != connect.Hash(&server.Spec):
			l.leaveOut(tool.Name, former, "")
		case !filter.Allows(tool.Name):
			l.leaveOut(tool.Name, denied, "")
		case !approved:
			l.leaveOut(tool.Name, withheld, ", "+cmp.Or(kinds[tool.Name], "not approved"))
		}
	}
	return nil
}

func (l *listed) leaveOut(tool string, why cause, detail string) {
	l.notOffered[tool] = string(why) + detail
	l.counts[why]++
}

// note sums up what is not offered, and says where there is more to read; it is empty when everything is.
func (l *lookup) note(all *listed) string {
	var parts []string
	for _, part := range []struct {
		why  cause
		text string
	}{
		{disabled, "of a server that spec.disabled turns off"},
		{former, "listed under a former spec"},
		{denied, "denied by spec.tools"},
		{withheld, fmt.Sprintf("withheld (`%s diff %s -n %s` tells more)", l.program(), l.Name, l.Namespace)},
	} {
		if n := all.counts[part.why]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, part.text))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("Not offered: %s.", strings.Join(parts, ", "))
}
