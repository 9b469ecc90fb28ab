package identity

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/mooring-dev/mooring/api/v1alpha1"
)

// Audience is what a token must be issued for.
const Audience = "mooring"

// Verb is what a caller must be permitted to do with what it connects to.
const Verb = "use"

// Object is what a caller wants to use.
type Object struct {
	// Resource is agentsessions or mcpservers.
	Resource, Namespace, Name string
}

// UnauthorizedError says in one sentence why a token is not accepted.
type UnauthorizedError struct{ Message string }

// Error is the sentence.
func (e *UnauthorizedError) Error() string { return e.Message }

// Reviewer asks the API server. It is safe for concurrent use.
type Reviewer struct {
	kube    kubernetes.Interface
	callers answers[*Caller]
	access  answers[bool]
}

// New returns a Reviewer that asks kube.
func New(kube kubernetes.Interface) *Reviewer { return &Reviewer{kube: kube} }

// Authenticate returns who sent the token. The error is an *UnauthorizedError, ErrUnreachable, or what else the API
// fails with.
func (r *Reviewer) Authenticate(ctx context.Context, token string) (*Caller, error) {
	key := sha256.Sum256([]byte(token))
	caller, err := r.callers.get(ctx, string(key[:]), func(ctx context.Context) (answer[*Caller], error) {
		return r.review(ctx, token)
	})
	if err == nil && caller == nil {
		return nil, refusal(token)
	}
	return caller, err
}

func (r *Reviewer) review(ctx context.Context, token string) (answer[*Caller], error) {
	review := &authenticationv1.TokenReview{
		Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: []string{Audience}},
	}
	review, err := r.kube.AuthenticationV1().TokenReviews().Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return answer[*Caller]{}, fmt.Errorf("token review: %w", err)
	}
	// An authenticator that knows no audiences would take a token for any: then none is returned.
	if !review.Status.Authenticated || !slices.Contains(review.Status.Audiences, Audience) {
		return answer[*Caller]{}, nil
	}
	return answer[*Caller]{value: newCaller(&review.Status.User), positive: true, until: claimsOf(token).expires()}, nil
}

// MayUse tells whether RBAC permits the caller to use the object.
func (r *Reviewer) MayUse(ctx context.Context, caller *Caller, object Object) (bool, error) {
	key := strings.Join([]string{caller.fingerprint, object.Resource, object.Namespace, object.Name}, "\x00")
	return r.access.get(ctx, key, func(ctx context.Context) (answer[bool], error) {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: caller.user.Username, UID: caller.user.UID, Groups: caller.user.Groups, Extra: extra(&caller.user),
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Verb: Verb, Group: v1alpha1.GroupVersion.Group, Resource: object.Resource,
				Namespace: object.Namespace, Name: object.Name,
			},
		}}
		review, err := r.kube.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
		if err != nil {
			return answer[bool]{}, fmt.Errorf("subject access review: %w", err)
		}
		return answer[bool]{value: review.Status.Allowed, positive: review.Status.Allowed}, nil
	})
}

func extra(user *authenticationv1.UserInfo) map[string]authorizationv1.ExtraValue {
	out := make(map[string]authorizationv1.ExtraValue, len(user.Extra))
	for key, values := range user.Extra {
		out[key] = authorizationv1.ExtraValue(values)
	}
	return out
}

// Caller is who asks.
type Caller struct {
	user        authenticationv1.UserInfo
	fingerprint string
	anonymous   bool
}

// Developer is who calls without a token where that is allowed.
func Developer() *Caller {
	caller := newCaller(&authenticationv1.UserInfo{Username: "developer"})
	caller.anonymous = true
	return caller
}

// Anonymous tells whether the caller showed no token, which is allowed on loopback alone.
func (c *Caller) Anonymous() bool { return c.anonymous }

func newCaller(user *authenticationv1.UserInfo) *Caller {
	document, _ := json.Marshal(user) // strings only: cannot fail
	sum := sha256.Sum256(document)
	return &Caller{user: *user, fingerprint: hex.EncodeToString(sum[:])}
}

const serviceAccountPrefix = "system:serviceaccount:"

// User is the caller's user name, for logs.
func (c *Caller) User() string { return c.user.Username }

// Pod is the name of the pod that the token is bound to; empty for other tokens.
func (c *Caller) Pod() string { return c.bound("authentication.kubernetes.io/pod-name") }

// Key tells callers apart: pods of one service account, and users.
func (c *Caller) Key() string {
	if uid := c.bound("authentication.kubernetes.io/pod-uid"); uid != "" {
		return "pod/" + uid
	}
	return "user/" + c.user.Username
}

func (c *Caller) bound(key string) string {
	if values := c.user.Extra[key]; len(values) == 1 {
		return values[0]
	}
	return ""
}

// IsServiceAccount tells whether the caller is this service account.
func (c *Caller) IsServiceAccount(namespace, name string) bool {
	return c.user.Username == serviceAccountPrefix+namespace+":"+name
}

// claims are what a token says of itself.
type claims struct {
	Expiry   float64         `json:"exp"`
	Audience json.RawMessage `json:"aud"`
}

// claimsOf reads a token without proof; the zero value for what cannot be read.
func claimsOf(token string) (out claims) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return claims{}
	}
	document, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil || json.Unmarshal(document, &out) != nil {
		return claims{}
	}
	return out
}

// expires is when the token ends; zero where it does not tell.
func (c claims) expires() time.Time {
	if c.Expiry <= 0 {
		return time.Time{}
	}
	return time.Unix(int64(c.Expiry), 0)
}

// meant tells whether the token is for us; also where it does not tell for whom it is.
func (c claims) meant() bool {
	var many []string
	var one string
	switch {
	case json.Unmarshal(c.Audience, &many) == nil:
		return slices.Contains(many, Audience)
	case json.Unmarshal(c.Audience, &one) == nil:
		return one == Audience
	}
	return true
}

// refusal tells what is wrong with a token that was refused, as far as it says itself.
func refusal(token string) *UnauthorizedError {
	const wanted = "; send a Kubernetes token of audience " + Audience
	said := claimsOf(token)
	switch {
	case !said.meant():
		return &UnauthorizedError{"the token is of another audience" + wanted}
	case !said.expires().IsZero() && time.Now().After(said.expires()):
		return &UnauthorizedError{"the token has expired" + wanted + " that is renewed before it expires"}
	}
	return &UnauthorizedError{"the token is not accepted by the Kubernetes API server" + wanted}
}

// Missing is the refusal of a request that holds no token.
func Missing() *UnauthorizedError {
	return &UnauthorizedError{"a Kubernetes token of audience " + Audience + " is wanted as bearer token"}
}
