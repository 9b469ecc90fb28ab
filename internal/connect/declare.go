package connect

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/refs"
	"github.com/mooring-dev/mooring/internal/secret"
	"github.com/mooring-dev/mooring/internal/upstream"
)

// Values reads Secrets and ConfigMaps live.
type Values interface {
	// ReadKeys returns the values under several keys of one version of the object, and that version.
	ReadKeys(ctx context.Context, object refs.Ref, keys ...string) ([]secret.Value, string, error)
}

// declaration is one walk over a spec: first what it refers to, then what comes of the values.
type declaration struct {
	namespace string
	variables map[string]string // by name; some may be secret
	steps     []step
	config    upstream.Config
	source    func(*Connector) (tokens, error) // nil where no access token is to be got
}

// step puts one part of the spec into the config. It reads values under keys of one object, or nothing.
type step struct {
	object refs.Ref // without a key
	keys   []string
	take   func(values []secret.Value) error
}

// declare walks over a spec that has spec.http.
func declare(namespace string, spec *v1alpha1.MCPServerSpec) *declaration {
	http := spec.HTTP
	d := &declaration{namespace: namespace, variables: literalVariables(spec), config: upstream.Config{
		Protocol:        upstream.Protocol(http.TransportProtocol()),
		ProxyURL:        secret.New(http.ProxyURL),
		ProtocolVersion: spec.ProtocolVersion,
		Headers:         make([]upstream.Header, len(http.Headers)),
	}}
	for _, variable := range spec.Variables {
		if variable.ValueFrom != nil {
			d.text(variable.ValueFrom.SecretKeyRef, func(value secret.Value) { d.variables[variable.Name] = value.Reveal() })
		}
	}
	d.then(func() (err error) {
		address, err := expandURL(http.URL, d.variables)
		if err != nil {
			return Invalid("spec.http.url: %v", err)
		}
		d.config.URL = secret.New(address)
		return nil
	})
	for i := range http.Headers {
		d.header(&http.Headers[i], &d.config.Headers[i])
	}
	d.auth(http.Auth)
	d.tls(http.TLS)
	return d
}

// References are all Secrets and ConfigMaps that the spec names.
func References(namespace string, spec *v1alpha1.MCPServerSpec) []refs.Ref {
	if spec.HTTP == nil || spec.Disabled {
		return nil
	}
	var out []refs.Ref
	for _, step := range declare(namespace, spec).steps {
		for _, key := range step.keys {
			reference := step.object
			reference.Key = key
			out = append(out, reference)
		}
	}
	return out
}

// resolve reads every reference and fills in the config. It returns a hash of the versions of the objects.
func (d *declaration) resolve(ctx context.Context, values Values) (string, error) {
	versions := map[refs.Ref]string{}
	for _, step := range d.steps {
		var read []secret.Value
		if len(step.keys) > 0 {
			found, version, err := values.ReadKeys(ctx, step.object, step.keys...)
			if err != nil {
				return "", notRead(err)
			}
			read, versions[step.object] = found, version
		}
		if err := step.take(read); err != nil {
			return "", err
		}
	}
	return versionsHash(versions), nil
}

// then adds a step that reads nothing.
func (d *declaration) then(take func() error) {
	d.steps = append(d.steps, step{take: func([]secret.Value) error { return take() }})
}

// read adds a step that reads keys of an object.
func (d *declaration) read(kind refs.Kind, name string, take func([]secret.Value) error, keys ...string) {
	object := refs.Ref{Kind: kind, Namespace: d.namespace, Name: name}
	d.steps = append(d.steps, step{object: object, keys: keys, take: take})
}

// text reads a value that goes into a header or a URL: white space around it is dropped, a byte that no header may
// have is refused.
func (d *declaration) text(reference v1alpha1.SecretKeyReference, take func(secret.Value)) {
	d.read(refs.Secret, reference.Name, func(values []secret.Value) error {
		const space = " \t\r\n\v\f"
		value := values[0].Reveal()
		trimmed := strings.Trim(value, space)
		switch at := badHeaderByte(trimmed); {
		case trimmed == "":
			return badValue("key %q of Secret %q is empty; put the credential there", reference.Key, reference.Name)
		case at >= 0:
			leading := len(value) - len(strings.TrimLeft(value, space))
			return badValue("key %q of Secret %q has a control or non-ASCII byte at offset %d, which no HTTP header may "+
				"have; write the Secret again without it", reference.Key, reference.Name, leading+at)
		}
		take(secret.New(trimmed))
		return nil
	}, reference.Key)
}

func (d *declaration) header(declared *v1alpha1.Header, out *upstream.Header) {
	out.Name = declared.Name
	if declared.ValueFrom != nil {
		d.text(declared.ValueFrom.SecretKeyRef, func(value secret.Value) { out.Value = value })
		return
	}
	d.then(func() error {
		text, err := expand(declared.Value, d.variables, verbatim)
		if err != nil {
			return Invalid("spec.http.headers[%s]: %v", declared.Name, err)
		}
		if badHeaderByte(text) >= 0 {
			return Invalid("spec.http.headers[%s]: the value with its variables has a byte that no header may have",
				declared.Name)
		}
		out.Value = secret.New(text)
		return nil
	})
}

func (d *declaration) tls(settings *v1alpha1.TLS) {
	if settings == nil {
		return
	}
	d.config.ServerName = settings.ServerName
	if bundle := settings.CABundleRef; bundle != nil {
		d.caBundle(bundle)
	}
	if pair := settings.ClientCertificateRef; pair != nil {
		d.clientCertificate(pair.Name)
	}
}

func (d *declaration) caBundle(bundle *v1alpha1.CABundleReference) {
	kind := refs.ConfigMap
	if bundle.Kind == v1alpha1.CABundleSecret {
		kind = refs.Secret
	}
	d.read(kind, bundle.Name, func(values []secret.Value) error {
		d.config.CABundle = []byte(values[0].Reveal())
		if !x509.NewCertPool().AppendCertsFromPEM(d.config.CABundle) {
			return &NotAccepted{v1alpha1.ReasonInvalidCABundle, fmt.Sprintf(
				"key %q of %s %q holds no PEM certificate; put the issuing CA's certificate there",
				bundle.Key, bundle.Kind, bundle.Name), true}
		}
		return nil
	}, bundle.Key)
}

// clientCertificate reads certificate and key out of one version of the Secret, so that a rotation in between is no
// mismatch.
func (d *declaration) clientCertificate(name string) {
	d.read(refs.Secret, name, func(pair []secret.Value) error {
		d.config.ClientCertificate, d.config.ClientKey = pair[0], pair[1]
		if _, err := tls.X509KeyPair([]byte(pair[0].Reveal()), []byte(pair[1].Reveal())); err != nil {
			// the error's text may quote the key: it is not passed on
			return badValue("Secret %q does not hold a matching PEM pair in tls.crt and tls.key; put a certificate and its "+
				"private key there", name)
		}
		return nil
	}, corev1.TLSCertKey, corev1.TLSPrivateKeyKey)
}

// badHeaderByte is the offset of the first byte that is not printable ASCII, a space or a tab; -1 when there is none
// (RFC 9110 section 5.5 without the obsolete obs-text).
func badHeaderByte(text string) int {
	return strings.IndexFunc(text, func(r rune) bool { return r != '\t' && (r < ' ' || r > '~') })
}
