package explain

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/connect"
	"github.com/mooring-dev/mooring/internal/refs"
	"github.com/mooring-dev/mooring/internal/text"
)

// missing are the commands that create what a server refers to and what is not there, as the reason of its condition
// tells. Where it refers to several such objects, the message says which it is.
func missing(server *v1alpha1.MCPServer, reason string) (commands []string) {
	kind := refs.Secret
	if reason == v1alpha1.ReasonConfigMapNotFound {
		kind = refs.ConfigMap
	}
	keys := map[string][]string{} // by the object's name
	var names []string
	for _, ref := range connect.References(server.Namespace, &server.Spec) {
		if ref.Kind == kind {
			names, keys[ref.Name] = append(names, ref.Name), append(keys[ref.Name], ref.Key)
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		slices.Sort(keys[name])
		all := slices.Compact(keys[name])
		switch reason {
		case v1alpha1.ReasonSecretNotFound:
			commands = append(commands, create(kind, server.Namespace, name, all))
		case v1alpha1.ReasonSecretKeyNotFound, v1alpha1.ReasonConfigMapNotFound: // of a ConfigMap, the object or the key
			for _, key := range all {
				commands = append(commands, create(kind, server.Namespace, name, []string{key})+
					" --dry-run=client -o yaml | kubectl apply --server-side -f -")
			}
		}
	}
	return commands
}

// create is the command that creates an object from files, so that no credential is in the shell's history.
func create(kind refs.Kind, namespace, name string, keys []string) string {
	subject, files := strings.ToLower(string(kind)), " --cert=PATH --key=PATH"
	switch {
	case kind == refs.Secret && slices.Equal(keys, []string{corev1.TLSCertKey, corev1.TLSPrivateKeyKey}):
		subject = "secret tls"
	default:
		if kind == refs.Secret {
			subject = "secret generic"
		}
		files = ""
		for _, key := range keys {
			files += " --from-file=" + text.ShellWord(key+"=PATH")
		}
	}
	return fmt.Sprintf("kubectl create %s %s -n %s%s", subject, text.ShellWord(name), namespace, files)
}
