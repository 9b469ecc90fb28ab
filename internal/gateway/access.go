package gateway

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/mooring-dev/mooring/internal/gateway/directory"
	"github.com/mooring-dev/mooring/internal/gateway/identity"
)

// writeFault answers with a sentence for people, as JSON.
func writeFault(w http.ResponseWriter, status int, sentence string) {
	body, _ := json.Marshal(map[string]string{"error": sentence}) // strings only: cannot fail
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// authenticate finds out who sent the request; when nobody known did, it answers.
func (g *Gateway) authenticate(w http.ResponseWriter, r *http.Request) (*identity.Caller, bool) {
	headers := r.Header.Values("Authorization")
	if len(headers) == 0 && g.options.Anonymous {
		return identity.Developer(), true
	}
	var caller *identity.Caller
	var err error = identity.Missing()
	scheme, token, _ := strings.Cut(strings.Join(headers, ", "), " ") // of several tokens none is taken
	token = strings.TrimSpace(token)
	bears := strings.EqualFold(scheme, "Bearer") && token != ""
	if bears {
		caller, err = g.options.Identity.Authenticate(r.Context(), token)
	}
	if err == nil {
		return caller, true
	}
	var refused *identity.UnauthorizedError
	if !errors.As(err, &refused) {
		g.unable(w, err)
		return nil, false
	}
	// No resource_metadata, and no error where no token came: a client must not begin an OAuth dance.
	challenge := "Bearer"
	if bears {
		challenge = fmt.Sprintf("Bearer error=%q, error_description=%q", "invalid_token", refused.Message)
	}
	w.Header().Set("WWW-Authenticate", challenge)
	g.options.Log.Info("refused", "status", http.StatusUnauthorized, "why", refused.Message, "path", r.URL.Path)
	writeFault(w, http.StatusUnauthorized, refused.Message)
	return nil, false
}

// unable answers that it could not be found out whether the caller may.
func (g *Gateway) unable(w http.ResponseWriter, err error) {
	if !errors.Is(err, identity.ErrUnreachable) {
		g.options.Log.Error(err, "callers cannot be reviewed")
	}
	w.Header().Set("Retry-After", "5")
	writeFault(w, http.StatusServiceUnavailable, "it cannot be found out now who you are and what you may use; try again")
}

// authorise finds out whether the caller may use the object; where not, it answers.
func (g *Gateway) authorise(
	w http.ResponseWriter, v *visit, kind directory.Kind, name types.NamespacedName,
) bool {
	if v.caller.Anonymous() || g.invited(v) {
		return true
	}
	object := objectOf(kind, name)
	may, err := g.options.Identity.MayUse(v.Context(), v.caller, object)
	switch {
	case err != nil:
		g.unable(w, err)
	case !may:
		sentence := fmt.Sprintf("%s may not use %s %s; bind the ClusterRole mooring-agent to it in namespace %s",
			v.caller.User(), kind, name, name.Namespace)
		if kind == directory.SessionKind {
			sentence += ", or name it in spec.allowedServiceAccounts"
		}
		g.options.Log.Info("refused", "status", http.StatusForbidden, "user", v.caller.User(), "pod", v.caller.Pod(),
			"resource", object.Resource, "namespace", name.Namespace, "name", name.Name)
		writeFault(w, http.StatusForbidden, sentence)
	}
	return err == nil && may
}

// invited tells whether the AgentSession itself names the caller.
func (g *Gateway) invited(v *visit) bool {
	if v.offer == nil {
		return false
	}
	for _, account := range v.offer.ServiceAccounts() {
		if v.caller.IsServiceAccount(account.NamespaceIn(v.offer.Name.Namespace), account.Name) {
			return true
		}
	}
	return false
}

// mayStay tells whether who was let in still may: a token expires, a permission is taken away. While nobody can be
// asked, the stream stands.
func (g *Gateway) mayStay(v *visit) bool {
	if v.caller.Anonymous() {
		return true
	}
	_, token, _ := strings.Cut(v.Header.Get("Authorization"), " ")
	if _, err := g.options.Identity.Authenticate(v.Context(), strings.TrimSpace(token)); err != nil {
		return errors.Is(err, identity.ErrUnreachable)
	}
	offer := g.find(v.offer.Kind, v.offer.Name)
	if offer == nil {
		return false
	}
	v.offer = offer
	if g.invited(v) {
		return true
	}
	may, err := g.options.Identity.MayUse(v.Context(), v.caller, objectOf(offer.Kind, offer.Name))
	return err != nil || may
}

func objectOf(kind directory.Kind, name types.NamespacedName) identity.Object {
	return identity.Object{Resource: string(kind) + "s", Namespace: name.Namespace, Name: name.Name}
}
