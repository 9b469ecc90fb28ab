package connect

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/oauth"
	"github.com/mooring-dev/mooring/internal/refs"
	"github.com/mooring-dev/mooring/internal/secret"
	"github.com/mooring-dev/mooring/internal/upstream"
	"github.com/mooring-dev/mooring/test/builder"
)

const address = "https://mcp.example.com/mcp"

// values are Secrets ("login/token") and ConfigMaps ("configmap:ca/ca.crt"), or what reading them fails with.
type values map[string]any

func (v values) ReadKeys(_ context.Context, reference refs.Ref, keys ...string) ([]secret.Value, string, error) {
	if reference.Namespace != "agents" {
		return nil, "", fmt.Errorf("read in namespace %q", reference.Namespace)
	}
	var out []secret.Value
	version := "uid/"
	for _, key := range keys {
		name := reference.Name + "/" + key
		if reference.Kind == refs.ConfigMap {
			name = "configmap:" + name
		}
		switch value := v[name].(type) {
		case string:
			out, version = append(out, secret.New(value)), version+value
		case error:
			return nil, "", value
		default:
			missing := refs.NotFoundError{Kind: reference.Kind, Namespace: reference.Namespace, Name: reference.Name}
			return nil, "", missing
		}
	}
	return out, version, nil
}

func declared() *builder.MCPServerBuilder { return builder.MCPServer("fs").URL(address) }

func connector(known values) *Connector {
	return New(Options{Values: known, UserAgent: "mooring/test"})
}

func wanted(t *testing.T, server *builder.MCPServerBuilder, known values) (*Session, error) {
	t.Helper()
	return connector(known).Session(t.Context(), server.Namespace("agents").Obj())
}

// connection is the fingerprint of what a connection to the server is made of.
func connection(t *testing.T, server *builder.MCPServerBuilder, known values) string {
	t.Helper()
	out, err := wanted(t, server, known)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return out.Connection
}

// resolved is what goes to the wire.
func resolved(t *testing.T, server *builder.MCPServerBuilder, known values) *upstream.Config {
	t.Helper()
	d := declare("agents", &server.Obj().Spec)
	_, err := d.resolve(t.Context(), known)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return &d.config
}

// granted is what tokens are minted with.
func granted(t *testing.T, server *builder.MCPServerBuilder, known values) *oauth.Config {
	t.Helper()
	d := &declaration{namespace: "agents"}
	grant := d.clientCredentials(server.Obj().Spec.HTTP.Auth.OAuthClientCredentials)
	_, err := d.resolve(t.Context(), known)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return grant
}

func TestResolveTakesTheDeclarationOver(t *testing.T) {
	g := NewWithT(t)
	config := resolved(t, declared().URL(address+"?tenant=a").Protocol(v1alpha1.ProtocolSSE).Header("X-Org", "acme").
		ServerName("inner.example.com").Proxy("http://proxy.example.com:3128").ConnectTimeout(time.Second).
		Mutate(func(s *v1alpha1.MCPServer) { s.Spec.ProtocolVersion = "2025-06-18" }), nil)
	g.Expect(config.URL.Reveal()).To(Equal(address + "?tenant=a"))
	g.Expect(config.Protocol).To(Equal(upstream.SSE))
	g.Expect(config.Headers).To(HaveLen(1))
	g.Expect(config.Headers[0].Name).To(Equal("X-Org"))
	g.Expect(config.Headers[0].Value.Reveal()).To(Equal("acme"))
	g.Expect(config.ServerName).To(Equal("inner.example.com"))
	g.Expect(config.ProxyURL.Reveal()).To(Equal("http://proxy.example.com:3128"))
	g.Expect(config.ProtocolVersion).To(Equal("2025-06-18"))
	g.Expect(config.Bearer.IsZero()).To(BeTrue())
	g.Expect(config.TokenSource).To(BeNil())
	g.Expect(resolved(t, declared(), nil).Protocol).To(Equal(upstream.Auto))
}

// Values are read wherever one may stand, and white space around them, as editors leave it, is dropped.
func TestResolveReadsCredentials(t *testing.T) {
	g := NewWithT(t)
	known := values{
		"login/token": "\t token-1 \r\n", "login/key": "key 1\n", "login/query": "a&b=c", "oauth/id": "client-1\n",
		"oauth/secret": "secret-1\n",
	}
	config := resolved(t, declared().URL(address+"/$(ORG)?key=$(KEY)").Variable("ORG", "acme").
		SecretVariable("KEY", "login", "query").SecretHeader("X-Key", "login", "key").Header("X-Both", "$(ORG) $$(KEY)").
		Bearer("login", "token"), known)
	g.Expect(config.URL.Reveal()).To(Equal(address + "/acme?key=a%26b%3Dc"))
	g.Expect(config.Headers[0].Value.Reveal()).To(Equal("key 1"))
	g.Expect(config.Headers[1].Value.Reveal()).To(Equal("acme $(KEY)"))
	g.Expect(config.Bearer.Reveal()).To(Equal("token-1"))

	oauth := declared().OAuth("https://login.example.com/token", "client-0", "oauth", "secret").
		Mutate(func(s *v1alpha1.MCPServer) {
			grant := s.Spec.HTTP.Auth.OAuthClientCredentials
			grant.Scopes, grant.Audience = []string{"mcp:tools", "mcp:list"}, "mcp"
		})
	grant := granted(t, oauth, known)
	g.Expect(grant.TokenURL).To(Equal("https://login.example.com/token"))
	g.Expect(grant.ClientID.Reveal()).To(Equal("client-0"))
	g.Expect(grant.ClientSecret.Reveal()).To(Equal("secret-1"))
	g.Expect(grant.Scopes).To(Equal([]string{"mcp:tools", "mcp:list"}))
	g.Expect(grant.Audience).To(Equal("mcp"))
	oauth.Mutate(func(s *v1alpha1.MCPServer) {
		s.Spec.HTTP.Auth.OAuthClientCredentials.ClientID = v1alpha1.ClientID{
			SecretKeyRef: &v1alpha1.SecretKeyReference{Name: "oauth", Key: "id"},
		}
	})
	g.Expect(granted(t, oauth, known).ClientID.Reveal()).To(Equal("client-1"))
}

// pair is a self-signed certificate and its key, as PEM.
func pair(t *testing.T) (certificate, key string) {
	t.Helper()
	g := NewWithT(t)
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	g.Expect(err).NotTo(HaveOccurred())
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	g.Expect(err).NotTo(HaveOccurred())
	encoded, err := x509.MarshalECPrivateKey(private)
	g.Expect(err).NotTo(HaveOccurred())
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed})),
		string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: encoded}))
}

func TestResolveReadsTLS(t *testing.T) {
	g := NewWithT(t)
	certificate, key := pair(t)
	known := values{
		"configmap:ca/ca.crt": certificate, "ca/bundle": certificate, "mtls/tls.crt": certificate, "mtls/tls.key": key,
	}
	config := resolved(t, declared().CABundle(v1alpha1.CABundleConfigMap, "ca", "ca.crt").ClientCertificate("mtls"), known)
	g.Expect(string(config.CABundle)).To(Equal(certificate))
	g.Expect(config.ClientCertificate.Reveal()).To(Equal(certificate))
	g.Expect(config.ClientKey.Reveal()).To(Equal(key))
	config = resolved(t, declared().CABundle(v1alpha1.CABundleSecret, "ca", "bundle"), known)
	g.Expect(string(config.CABundle)).To(Equal(certificate))
}

// canary is a credential that no message may hold, not even in part.
const canary = "CANARY-5f1d"

// What a person must mend is a refusal that names the object and the key, or the field, and never the value.
func TestNotAccepted(t *testing.T) {
	certificate, key := pair(t)
	other, otherKey := pair(t)
	withCA := declared().CABundle(v1alpha1.CABundleConfigMap, "ca", "ca.crt")
	denied := refs.AccessDeniedError{Kind: refs.Secret, Namespace: "agents", Grant: "kubectl create rolebinding x"}
	for name, test := range map[string]struct {
		server *builder.MCPServerBuilder
		known  values
		reason string
		final  bool
		says   []string
	}{
		"an undefined variable in the URL": {declared().URL(address + "/$(ORG)"), nil, v1alpha1.ReasonInvalidConfiguration,
			true, []string{"spec.http.url", "$(ORG)", "spec.variables"}},
		"an undefined variable in the query": {declared().URL(address + "?a=$(ORG)"), nil,
			v1alpha1.ReasonInvalidConfiguration, true, []string{"spec.http.url", "$(ORG)"}},
		"an undefined variable in a header": {declared().Header("X-Org", "$(ORG)"), nil,
			v1alpha1.ReasonInvalidConfiguration, true, []string{"spec.http.headers[X-Org]", "$(ORG)"}},
		"a header that a variable makes impossible": {
			declared().Header("X-Org", "$(ORG)").Variable("ORG", canary+"\r\nX-Evil: 1"), nil,
			v1alpha1.ReasonInvalidConfiguration, true, []string{"spec.http.headers[X-Org]"}},
		"a Secret that is not there": {declared().Bearer("login", "token"), nil, v1alpha1.ReasonSecretNotFound, false,
			[]string{`Secret "login"`, "create it"}},
		"a Secret without the key": {declared().Bearer("login", "token"), values{
			"login/token": refs.KeyNotFoundError{Kind: refs.Secret, Namespace: "agents", Name: "login", Key: "token"},
		}, v1alpha1.ReasonSecretKeyNotFound, false, []string{`"login"`, `"token"`}},
		"a Secret that may not be read": {declared().Bearer("login", "token"), values{"login/token": denied},
			v1alpha1.ReasonSecretAccessDenied, false, []string{"kubectl create rolebinding x"}},
		"an empty token": {declared().Bearer("login", "token"), values{"login/token": " \n\t"},
			v1alpha1.ReasonInvalidSecretValue, true, []string{`key "token" of Secret "login" is empty`}},
		"a token with a control byte": {declared().Bearer("login", "token"), values{"login/token": "  " + canary + "\x00x"},
			v1alpha1.ReasonInvalidSecretValue, true, []string{`key "token" of Secret "login"`, "at offset 13"}},
		"a token with a line break": {declared().Bearer("login", "token"), values{"login/token": canary + "\nx"},
			v1alpha1.ReasonInvalidSecretValue, true, []string{"at offset 11"}},
		"a header with a letter that is not ASCII": {declared().SecretHeader("X-Key", "login", "key"),
			values{"login/key": canary + "é"}, v1alpha1.ReasonInvalidSecretValue, true, []string{`key "key"`, "at offset 11"}},
		"a variable with a control byte": {declared().SecretVariable("KEY", "login", "key"),
			values{"login/key": canary + "\x7f"}, v1alpha1.ReasonInvalidSecretValue, true, []string{`key "key"`}},
		"a client secret that is empty": {declared().OAuth("https://login.example.com/token", "id", "oauth", "secret"),
			values{"oauth/secret": ""}, v1alpha1.ReasonInvalidSecretValue, true, []string{`key "secret" of Secret "oauth"`}},
		"a CA bundle that is not there": {withCA, nil, v1alpha1.ReasonConfigMapNotFound, false, []string{`ConfigMap "ca"`}},
		"a CA bundle without the key": {withCA, values{
			"configmap:ca/ca.crt": refs.KeyNotFoundError{Kind: refs.ConfigMap, Namespace: "agents", Name: "ca", Key: "ca.crt"},
		}, v1alpha1.ReasonConfigMapNotFound, false, []string{`"ca.crt"`}},
		"a CA bundle that is none": {withCA, values{"configmap:ca/ca.crt": canary}, v1alpha1.ReasonInvalidCABundle, true,
			[]string{`key "ca.crt" of ConfigMap "ca"`}},
		"a key as CA bundle": {withCA, values{"configmap:ca/ca.crt": key}, v1alpha1.ReasonInvalidCABundle, true,
			[]string{`key "ca.crt" of ConfigMap "ca"`}},
		"a client certificate without a Secret": {declared().ClientCertificate("mtls"), nil, v1alpha1.ReasonSecretNotFound,
			false, []string{`Secret "mtls"`}},
		"a client certificate without its key": {declared().ClientCertificate("mtls"), values{
			"mtls/tls.crt": certificate,
			"mtls/tls.key": refs.KeyNotFoundError{Kind: refs.Secret, Namespace: "agents", Name: "mtls", Key: "tls.key"},
		}, v1alpha1.ReasonSecretKeyNotFound, false, []string{`"mtls"`, `"tls.key"`}},
		"a client certificate of another key": {declared().ClientCertificate("mtls"),
			values{"mtls/tls.crt": other, "mtls/tls.key": key}, v1alpha1.ReasonInvalidSecretValue, true,
			[]string{`Secret "mtls"`, "tls.crt and tls.key"}},
		"a client key that is no key": {declared().ClientCertificate("mtls"),
			values{"mtls/tls.crt": certificate, "mtls/tls.key": canary}, v1alpha1.ReasonInvalidSecretValue, true,
			[]string{`Secret "mtls"`}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			session, err := wanted(t, test.server, test.known)
			g.Expect(session).To(BeNil())
			var refusal *NotAccepted
			g.Expect(errors.As(err, &refusal)).To(BeTrue(), "%v", err)
			g.Expect(refusal.Reason).To(Equal(test.reason))
			g.Expect(refusal.Final).To(Equal(test.final))
			for _, text := range test.says {
				g.Expect(refusal.Message).To(ContainSubstring(text))
			}
			g.Expect(refusal.Message).NotTo(ContainSubstring(canary))
			for _, private := range []string{key, otherKey, certificate} {
				g.Expect(refusal.Message).NotTo(ContainSubstring(private[40:60]))
			}
		})
	}
}

// What the API server fails with is no refusal: it is not the user's to mend.
func TestErrorsOfTheAPIPass(t *testing.T) {
	g := NewWithT(t)
	unwell := errors.New("the API server is not well")
	for name, server := range map[string]*builder.MCPServerBuilder{
		"variable": declared().SecretVariable("KEY", "login", "token"),
		"header":   declared().SecretHeader("X-Key", "login", "token"),
		"bearer":   declared().Bearer("login", "token"),
		"client id": declared().OAuth("https://login.example.com/token", "", "login", "other").
			Mutate(func(s *v1alpha1.MCPServer) {
				s.Spec.HTTP.Auth.OAuthClientCredentials.ClientID.SecretKeyRef =
					&v1alpha1.SecretKeyReference{Name: "login", Key: "token"}
			}),
		"client secret":      declared().OAuth("https://login.example.com/token", "id", "login", "token"),
		"bundle":             declared().CABundle(v1alpha1.CABundleSecret, "login", "token"),
		"client certificate": declared().ClientCertificate("login"),
	} {
		_, err := wanted(t, server, values{"login/token": unwell, "login/tls.crt": unwell})
		g.Expect(err).To(MatchError(unwell), name)
		g.Expect(errors.As(err, new(*NotAccepted))).To(BeFalse(), name)
	}
}

// Nothing that was resolved prints, whatever it is printed with.
func TestConfigDoesNotPrint(t *testing.T) {
	g := NewWithT(t)
	server := declared().URL(address+"?key=$(KEY)").SecretVariable("KEY", "a", "b").
		SecretHeader("X", "a", "b").Bearer("a", "b")
	config := resolved(t, server, values{"a/b": canary})
	encoded, err := json.Marshal(config)
	g.Expect(err).NotTo(HaveOccurred())
	session, err := wanted(t, server, values{"a/b": canary})
	g.Expect(err).NotTo(HaveOccurred())
	for _, text := range []string{
		string(encoded), fmt.Sprint(config), fmt.Sprintf("%+v", config), fmt.Sprintf("%#v", *config),
		session.Connection, session.Address, fmt.Sprintf("%+v", session), fmt.Sprintf("%#v", session.Config),
	} {
		g.Expect(strings.Contains(text, canary)).To(BeFalse(), "a printed form holds the credential")
	}
}

func TestAddress(t *testing.T) {
	for url, want := range map[string]string{
		"https://h.example/mcp":        "h.example:443",
		"http://h.svc/mcp":             "h.svc:80",
		"http://h.svc:8080/mcp?a=b":    "h.svc:8080",
		"https://[2001:db8::1]/mcp":    "[2001:db8::1]:443",
		"https://[2001:db8::1]:8443/x": "[2001:db8::1]:8443",
	} {
		session, err := wanted(t, builder.MCPServer("fs").URL(url), nil)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		NewWithT(t).Expect(session.Address).To(Equal(want))
	}
}

// Another connection is made exactly when something that it is made of changed.
func TestFingerprint(t *testing.T) {
	base := func() *builder.MCPServerBuilder { return declared().Bearer("login", "token").Header("X-Org", "acme") }
	known := values{"login/token": "first", "login/other": "first", "login/second": "second"}
	before := connection(t, base(), known)
	NewWithT(t).Expect(connection(t, base(), known)).To(Equal(before))
	for name, server := range map[string]*builder.MCPServerBuilder{
		"the path":             base().URL(address + "/v2"),
		"the query":            base().URL(address + "?a=b"),
		"the protocol":         base().Protocol(v1alpha1.ProtocolSSE),
		"a header's value":     declared().Bearer("login", "token").Header("X-Org", "other"),
		"a header's name":      declared().Bearer("login", "token").Header("X-Orb", "acme"),
		"one more header":      base().Header("X-More", "1"),
		"the token":            base().Bearer("login", "second"),
		"no token":             declared().Header("X-Org", "acme"),
		"the server name":      base().ServerName("inner.example.com"),
		"the proxy":            base().Proxy("http://proxy.example.com:3128"),
		"the protocol version": base().Mutate(func(s *v1alpha1.MCPServer) { s.Spec.ProtocolVersion = "2025-06-18" }),
		"another grant":        base().OAuth("https://login.example.com/token", "id", "login", "token"),
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(connection(t, server, known)).NotTo(Equal(before))
		})
	}
	for name, server := range map[string]*builder.MCPServerBuilder{
		"another Secret with the same token": base().Bearer("login", "other"),
		"a timeout":                          base().ListTimeout(time.Second),
		"a note":                             base().Mutate(func(s *v1alpha1.MCPServer) { s.Spec.Notes = "for files" }),
	} {
		t.Run("not "+name, func(t *testing.T) {
			NewWithT(t).Expect(connection(t, server, known)).To(Equal(before))
		})
	}
	t.Run("values do not run into each other", func(t *testing.T) {
		one := connection(t, declared().Header("A", "bc"), nil)
		two := connection(t, declared().Header("AB", "c"), nil)
		NewWithT(t).Expect(one).NotTo(Equal(two))
	})
	t.Run("the scopes of a grant", func(t *testing.T) {
		grant := func(scopes ...string) string {
			server := declared().OAuth("https://login.example.com/token", "id", "login", "token").
				Mutate(func(s *v1alpha1.MCPServer) { s.Spec.HTTP.Auth.OAuthClientCredentials.Scopes = scopes })
			return connection(t, server, known)
		}
		NewWithT(t).Expect(grant("a")).NotTo(Equal(grant("b")))
		NewWithT(t).Expect(grant("a")).To(Equal(grant("a")))
	})
}

// All references are named before any is read, and none where no session is wanted.
func TestReferences(t *testing.T) {
	g := NewWithT(t)
	ref := func(kind refs.Kind, name, key string) refs.Ref {
		return refs.Ref{Kind: kind, Namespace: "agents", Name: name, Key: key}
	}
	full := declared().SecretVariable("A", "variables", "a").Variable("B", "literal").SecretHeader("X", "headers", "x").
		Header("Y", "literal").OAuth("https://login.example.com/token", "", "oauth", "secret").
		CABundle(v1alpha1.CABundleConfigMap, "ca", "ca.crt").ClientCertificate("mtls").
		Mutate(func(s *v1alpha1.MCPServer) {
			s.Spec.HTTP.Auth.OAuthClientCredentials.ClientID.SecretKeyRef =
				&v1alpha1.SecretKeyReference{Name: "oauth", Key: "id"}
		})
	g.Expect(References("agents", &full.Obj().Spec)).To(ConsistOf(
		ref(refs.Secret, "variables", "a"), ref(refs.Secret, "headers", "x"), ref(refs.Secret, "oauth", "secret"),
		ref(refs.Secret, "oauth", "id"), ref(refs.ConfigMap, "ca", "ca.crt"), ref(refs.Secret, "mtls", "tls.crt"),
		ref(refs.Secret, "mtls", "tls.key"),
	))
	g.Expect(References("agents", &declared().Bearer("login", "token").CABundle(v1alpha1.CABundleSecret, "ca", "x").
		Obj().Spec)).To(ConsistOf(ref(refs.Secret, "login", "token"), ref(refs.Secret, "ca", "x")))
	g.Expect(References("agents", &full.Disabled().Obj().Spec)).To(BeEmpty())
	g.Expect(References("agents", &builder.MCPServer("fs").Stdio("example.com/x:1").Obj().Spec)).To(BeEmpty())
}
