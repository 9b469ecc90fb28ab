package builder

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	mooringv1alpha1 "github.com/mooring-dev/mooring/api/v1alpha1"
)

// MCPServerBuilder builds an MCPServer.
type MCPServerBuilder struct {
	obj mooringv1alpha1.MCPServer
}

// MCPServer begins an MCPServer of this name, without a transport.
func MCPServer(name string) *MCPServerBuilder {
	b := &MCPServerBuilder{}
	b.obj.Name = name
	return b
}

// Obj returns a copy of what was built so far.
func (b *MCPServerBuilder) Obj() *mooringv1alpha1.MCPServer {
	return b.obj.DeepCopy()
}

// Mutate sets what has no method of its own.
func (b *MCPServerBuilder) Mutate(f func(*mooringv1alpha1.MCPServer)) *MCPServerBuilder {
	f(&b.obj)
	return b
}

// Namespace sets the namespace.
func (b *MCPServerBuilder) Namespace(namespace string) *MCPServerBuilder {
	b.obj.Namespace = namespace
	return b
}

// UID sets the UID, for tests without an API server.
func (b *MCPServerBuilder) UID(uid types.UID) *MCPServerBuilder {
	b.obj.UID = uid
	return b
}

// Generation sets metadata.generation, for tests without an API server.
func (b *MCPServerBuilder) Generation(generation int64) *MCPServerBuilder {
	b.obj.Generation = generation
	return b
}

// Created sets metadata.creationTimestamp, for tests without an API server.
func (b *MCPServerBuilder) Created(at time.Time) *MCPServerBuilder {
	b.obj.CreationTimestamp = metav1.NewTime(at)
	return b
}

// Label sets one label.
func (b *MCPServerBuilder) Label(key, value string) *MCPServerBuilder {
	metav1.SetMetaDataLabel(&b.obj.ObjectMeta, key, value)
	return b
}

// Annotation sets one annotation.
func (b *MCPServerBuilder) Annotation(key, value string) *MCPServerBuilder {
	metav1.SetMetaDataAnnotation(&b.obj.ObjectMeta, key, value)
	return b
}

// Reconnect sets the annotation that asks for a new connection.
func (b *MCPServerBuilder) Reconnect(value string) *MCPServerBuilder {
	return b.Annotation(mooringv1alpha1.AnnotationReconnect, value)
}

// URL makes it an HTTP server at this URL.
func (b *MCPServerBuilder) URL(url string) *MCPServerBuilder {
	b.http().URL = url
	return b
}

// Protocol sets spec.http.protocol.
func (b *MCPServerBuilder) Protocol(protocol mooringv1alpha1.HTTPProtocol) *MCPServerBuilder {
	b.http().Protocol = protocol
	return b
}

// Header adds a header with a value in clear.
func (b *MCPServerBuilder) Header(name, value string) *MCPServerBuilder {
	h := b.http()
	h.Headers = append(h.Headers, mooringv1alpha1.Header{Name: name, Value: value})
	return b
}

// SecretHeader adds a header whose value stands in a Secret.
func (b *MCPServerBuilder) SecretHeader(name, secret, key string) *MCPServerBuilder {
	h := b.http()
	h.Headers = append(h.Headers, mooringv1alpha1.Header{Name: name, ValueFrom: FromSecret(secret, key)})
	return b
}

// Bearer authenticates by a token from a Secret.
func (b *MCPServerBuilder) Bearer(secret, key string) *MCPServerBuilder {
	b.http().Auth = &mooringv1alpha1.Auth{Bearer: FromSecret(secret, key)}
	return b
}

// OAuth authenticates by the client credentials grant, with a client ID in clear and a secret from a Secret.
func (b *MCPServerBuilder) OAuth(tokenURL, clientID, secret, key string) *MCPServerBuilder {
	b.http().Auth = &mooringv1alpha1.Auth{OAuthClientCredentials: &mooringv1alpha1.OAuthClientCredentials{
		TokenURL:     tokenURL,
		ClientID:     mooringv1alpha1.ClientID{Value: clientID},
		ClientSecret: *FromSecret(secret, key),
	}}
	return b
}

// CABundle trusts the certificates under key of the ConfigMap or Secret.
func (b *MCPServerBuilder) CABundle(kind mooringv1alpha1.CABundleKind, name, key string) *MCPServerBuilder {
	b.tls().CABundleRef = &mooringv1alpha1.CABundleReference{Kind: kind, Name: name, Key: key}
	return b
}

// ClientCertificate shows the certificate of the Secret to the server.
func (b *MCPServerBuilder) ClientCertificate(secret string) *MCPServerBuilder {
	b.tls().ClientCertificateRef = &mooringv1alpha1.SecretReference{Name: secret}
	return b
}

// ServerName sets the host name that the server's certificate must be for.
func (b *MCPServerBuilder) ServerName(name string) *MCPServerBuilder {
	b.tls().ServerName = name
	return b
}

// Proxy goes through the HTTP proxy at this URL.
func (b *MCPServerBuilder) Proxy(url string) *MCPServerBuilder {
	b.http().ProxyURL = url
	return b
}

// Stdio makes it a stdio server.
func (b *MCPServerBuilder) Stdio(image string, command ...string) *MCPServerBuilder {
	b.obj.Spec.Stdio = &mooringv1alpha1.StdioTransport{Image: image, Command: command}
	return b
}

// Variable defines $(name) in clear.
func (b *MCPServerBuilder) Variable(name, value string) *MCPServerBuilder {
	b.obj.Spec.Variables = append(b.obj.Spec.Variables, mooringv1alpha1.Variable{Name: name, Value: &value})
	return b
}

// SecretVariable defines $(name) by a Secret.
func (b *MCPServerBuilder) SecretVariable(name, secret, key string) *MCPServerBuilder {
	v := mooringv1alpha1.Variable{Name: name, ValueFrom: FromSecret(secret, key)}
	b.obj.Spec.Variables = append(b.obj.Spec.Variables, v)
	return b
}

// Disabled keeps the declaration without a session.
func (b *MCPServerBuilder) Disabled() *MCPServerBuilder {
	b.obj.Spec.Disabled = true
	return b
}

func (b *MCPServerBuilder) http() *mooringv1alpha1.HTTPTransport {
	return ensure(&b.obj.Spec.HTTP)
}

func (b *MCPServerBuilder) tls() *mooringv1alpha1.TLS {
	return ensure(&b.http().TLS)
}

// ensure returns what *p points to, after making it where there was nothing.
func ensure[T any](p **T) *T {
	if *p == nil {
		*p = new(T)
	}
	return *p
}
