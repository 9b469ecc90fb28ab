package explain

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/connect"
	"github.com/mooring-dev/mooring/internal/refs"
)

// absentee is a Secret or ConfigMap that a server refers to and that is not there, or not with all its keys.
type absentee struct {
	kind            refs.Kind
	namespace, name string
	// keys are those that are referred to; of an object that is there, only the one that it has not.
	keys []string
	// exists: it is the key that is missing.
	exists bool
}

// missing finds what a message says is missing among what the server refers to; nil when it says so of none.
func missing(server *v1alpha1.MCPServer, message string) *absentee {
	references := connect.References(server.Namespace, &server.Spec)
	for _, ref := range references {
		found := &absentee{kind: ref.Kind, namespace: ref.Namespace, name: ref.Name}
		gone := refs.NotFoundError{Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name}
		lacking := refs.KeyNotFoundError(ref)
		switch {
		case strings.HasPrefix(message, gone.Error()):
			found.keys = keysOf(references, ref)
			return found
		case strings.HasPrefix(message, lacking.Error()):
			found.keys, found.exists = []string{ref.Key}, true
			return found
		}
	}
	return nil
}

// keysOf are the keys of one object that any of the references names, each once.
func keysOf(references []refs.Ref, object refs.Ref) []string {
	var out []string
	for _, ref := range references {
		if ref.Kind == object.Kind && ref.Name == object.Name {
			out = append(out, ref.Key)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// advice says what to create, or to add, and with which command.
func (a *absentee) advice() string {
	if a.exists {
		return fmt.Sprintf("add key %q to %s %q, or correct the reference%s", a.keys[0], a.kind, a.name, a.command())
	}
	quoted := make([]string, len(a.keys))
	for i, key := range a.keys {
		quoted[i] = fmt.Sprintf("%q", key)
	}
	noun := "key"
	if len(quoted) > 1 {
		noun = "keys"
	}
	return fmt.Sprintf("create %s %q with %s %s, or correct the reference%s",
		a.kind, a.name, noun, strings.Join(quoted, " and "), a.command())
}

// plainWord is what a shell takes as it stands. Names and keys in a declaration may be anything, and what cannot be the
// name of an object is in no command.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)

// command creates the object, or adds the key, from files, so that no credential is in the shell's history. It stands
// on a line of its own.
func (a *absentee) command() string {
	for _, word := range append([]string{a.name, a.namespace}, a.keys...) {
		if !plainWord.MatchString(word) {
			return ""
		}
	}
	resource := strings.ToLower(string(a.kind))
	switch {
	case a.exists && a.kind == refs.Secret:
		return fmt.Sprintf("\nkubectl patch secret %s -n %s -p "+
			`"{\"data\":{\"%s\":\"$(base64 < PATH | tr -d '\n')\"}}"`, a.name, a.namespace, a.keys[0])
	case a.exists:
		return fmt.Sprintf("\nkubectl edit %s %s -n %s", resource, a.name, a.namespace)
	case a.kind == refs.Secret && slices.Equal(a.keys, []string{corev1.TLSCertKey, corev1.TLSPrivateKeyKey}):
		return fmt.Sprintf("\nkubectl create secret tls %s -n %s --cert=PATH --key=PATH", a.name, a.namespace)
	case a.kind == refs.Secret:
		resource = "secret generic"
	}
	text := fmt.Sprintf("\nkubectl create %s %s -n %s", resource, a.name, a.namespace)
	for _, key := range a.keys {
		text += fmt.Sprintf(" --from-file=%s=PATH", key)
	}
	return text
}
