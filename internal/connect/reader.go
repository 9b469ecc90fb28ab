package connect

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/refs"
	"github.com/mooring-dev/mooring/internal/secret"
)

// variables are the values of spec.variables by name. Some may be secret.
type variables = map[string]string

// Values reads Secrets and ConfigMaps live.
type Values interface {
	// Read returns the value under the reference's key, and the version of the object.
	Read(ctx context.Context, reference refs.Ref) (secret.Value, string, error)
	// ReadKeys returns the values under several keys of one version of the object, and that version.
	ReadKeys(ctx context.Context, reference refs.Ref, keys ...string) ([]secret.Value, string, error)
}

// reader reads the references of one server.
type reader struct {
	values    Values
	namespace string
	// versions are those of the objects that were read.
	versions map[refs.Ref]string
}

// note remembers the version of the object that was read.
func (f *reader) note(reference refs.Ref, version string) {
	reference.Key = ""
	f.versions[reference] = version
}

// References are all Secrets and ConfigMaps that the spec names.
func References(namespace string, spec *v1alpha1.MCPServerSpec) []refs.Ref {
	if spec.HTTP == nil || spec.Disabled {
		return nil
	}
	var out []refs.Ref
	add := func(source *v1alpha1.ValueSource) {
		if source != nil {
			out = append(out, secretRef(namespace, source.SecretKeyRef))
		}
	}
	for _, variable := range spec.Variables {
		add(variable.ValueFrom)
	}
	for _, header := range spec.HTTP.Headers {
		add(header.ValueFrom)
	}
	if auth := spec.HTTP.Auth; auth != nil {
		add(auth.Bearer)
		if oauth := auth.OAuthClientCredentials; oauth != nil {
			add(&oauth.ClientSecret)
			if oauth.ClientID.SecretKeyRef != nil {
				out = append(out, secretRef(namespace, *oauth.ClientID.SecretKeyRef))
			}
		}
	}
	return append(out, tlsReferences(namespace, spec.HTTP.TLS)...)
}

func tlsReferences(namespace string, settings *v1alpha1.TLS) []refs.Ref {
	if settings == nil {
		return nil
	}
	var out []refs.Ref
	if bundle := settings.CABundleRef; bundle != nil {
		out = append(out, bundleRef(namespace, bundle))
	}
	if certificate := settings.ClientCertificateRef; certificate != nil {
		out = append(out,
			refs.Ref{Kind: refs.Secret, Namespace: namespace, Name: certificate.Name, Key: corev1.TLSCertKey},
			refs.Ref{Kind: refs.Secret, Namespace: namespace, Name: certificate.Name, Key: corev1.TLSPrivateKeyKey})
	}
	return out
}

func secretRef(namespace string, reference v1alpha1.SecretKeyReference) refs.Ref {
	return refs.Ref{Kind: refs.Secret, Namespace: namespace, Name: reference.Name, Key: reference.Key}
}

func bundleRef(namespace string, bundle *v1alpha1.CABundleReference) refs.Ref {
	kind := refs.ConfigMap
	if bundle.Kind == v1alpha1.CABundleSecret {
		kind = refs.Secret
	}
	return refs.Ref{Kind: kind, Namespace: namespace, Name: bundle.Name, Key: bundle.Key}
}

// variables reads every variable that comes from a Secret.
func (f *reader) variables(ctx context.Context, spec *v1alpha1.MCPServerSpec) (variables, error) {
	values := literalVariables(spec)
	for _, variable := range spec.Variables {
		if variable.ValueFrom == nil {
			continue
		}
		value, err := f.text(ctx, variable.ValueFrom.SecretKeyRef)
		if err != nil {
			return nil, err
		}
		values[variable.Name] = value.Reveal()
	}
	return values, nil
}

func (f *reader) headers(
	ctx context.Context, http *v1alpha1.HTTPTransport, endpoint *Config, values variables,
) error {
	for _, declared := range http.Headers {
		header := Header{Name: declared.Name}
		if declared.ValueFrom != nil {
			value, err := f.text(ctx, declared.ValueFrom.SecretKeyRef)
			if err != nil {
				return err
			}
			header.Value = value
		} else {
			text, err := expand(declared.Value, values, verbatim)
			if err != nil {
				return Invalid("spec.http.headers[%s]: %v", declared.Name, err)
			}
			if badHeaderByte(text) >= 0 {
				return Invalid("spec.http.headers[%s]: the value with its variables has a byte that no header may have",
					declared.Name)
			}
			header.Value = secret.New(text)
		}
		endpoint.Headers = append(endpoint.Headers, header)
	}
	return nil
}

func (f *reader) auth(ctx context.Context, http *v1alpha1.HTTPTransport, endpoint *Config, _ variables) (err error) {
	if http.Auth == nil {
		return nil
	}
	if bearer := http.Auth.Bearer; bearer != nil {
		endpoint.Bearer, err = f.text(ctx, bearer.SecretKeyRef)
		return err
	}
	declared := http.Auth.OAuthClientCredentials
	if declared == nil {
		return nil
	}
	grant := &OAuth{TokenURL: declared.TokenURL, Scopes: declared.Scopes, Audience: declared.Audience}
	grant.ClientID = secret.New(declared.ClientID.Value)
	if declared.ClientID.SecretKeyRef != nil {
		if grant.ClientID, err = f.text(ctx, *declared.ClientID.SecretKeyRef); err != nil {
			return err
		}
	}
	grant.ClientSecret, err = f.text(ctx, declared.ClientSecret.SecretKeyRef)
	endpoint.OAuth = grant
	return err
}

func (f *reader) tls(ctx context.Context, http *v1alpha1.HTTPTransport, endpoint *Config, _ variables) error {
	if http.TLS == nil {
		return nil
	}
	endpoint.ServerName = http.TLS.ServerName
	if reference := http.TLS.CABundleRef; reference != nil {
		bundle, err := f.read(ctx, bundleRef(f.namespace, reference))
		if err != nil {
			return err
		}
		if !x509.NewCertPool().AppendCertsFromPEM([]byte(bundle.Reveal())) {
			return &Refusal{v1alpha1.ReasonInvalidCABundle, fmt.Sprintf(
				"key %q of %s %q holds no PEM certificate; put the issuing CA's certificate there",
				reference.Key, reference.Kind, reference.Name), true}
		}
		endpoint.CABundle = bundle.Reveal()
	}
	if reference := http.TLS.ClientCertificateRef; reference != nil {
		return f.clientCertificate(ctx, reference.Name, endpoint)
	}
	return nil
}

// clientCertificate reads certificate and key out of one version of the Secret, so that a rotation in between is no
// mismatch.
func (f *reader) clientCertificate(ctx context.Context, name string, endpoint *Config) error {
	reference := refs.Ref{Kind: refs.Secret, Namespace: f.namespace, Name: name}
	pair, version, err := f.values.ReadKeys(ctx, reference, corev1.TLSCertKey, corev1.TLSPrivateKeyKey)
	if err != nil {
		return mendable(err)
	}
	f.note(reference, version)
	endpoint.ClientCertificate, endpoint.ClientKey = pair[0], pair[1]
	_, err = tls.X509KeyPair([]byte(endpoint.ClientCertificate.Reveal()), []byte(endpoint.ClientKey.Reveal()))
	if err != nil { // the error's text may quote the key: it is not passed on
		return &Refusal{v1alpha1.ReasonInvalidSecretValue, fmt.Sprintf(
			"Secret %q does not hold a matching PEM pair in tls.crt and tls.key; put a certificate and its private key there",
			name), true}
	}
	return nil
}

// text reads a value that goes into a header or a URL: white space around it is dropped, a byte that no header may
// have is refused.
func (f *reader) text(ctx context.Context, reference v1alpha1.SecretKeyReference) (secret.Value, error) {
	value, err := f.read(ctx, secretRef(f.namespace, reference))
	if err != nil {
		return secret.Value{}, err
	}
	const space = " \t\r\n\v\f"
	trimmed := strings.Trim(value.Reveal(), space)
	leading := len(value.Reveal()) - len(strings.TrimLeft(value.Reveal(), space))
	switch at := badHeaderByte(trimmed); {
	case trimmed == "":
		return secret.Value{}, &Refusal{v1alpha1.ReasonInvalidSecretValue, fmt.Sprintf(
			"key %q of Secret %q is empty; put the credential there", reference.Key, reference.Name), true}
	case at >= 0:
		return secret.Value{}, &Refusal{v1alpha1.ReasonInvalidSecretValue, fmt.Sprintf(
			"key %q of Secret %q has a control or non-ASCII byte at offset %d, which no HTTP header may have; "+
				"write the Secret again without it", reference.Key, reference.Name, leading+at), true}
	}
	return secret.New(trimmed), nil
}

// read reads one value as it stands.
func (f *reader) read(ctx context.Context, reference refs.Ref) (secret.Value, error) {
	value, version, err := f.values.Read(ctx, reference)
	f.note(reference, version)
	return value, mendable(err)
}

// mendable turns what a person must mend into a refusal; other errors pass.
func mendable(err error) error {
	var (
		missing    refs.NotFoundError
		missingKey refs.KeyNotFoundError
		denied     refs.AccessDeniedError
	)
	switch {
	case errors.As(err, &missing):
		reason := v1alpha1.ReasonSecretNotFound
		if missing.Kind == refs.ConfigMap {
			reason = v1alpha1.ReasonConfigMapNotFound
		}
		return &Refusal{reason, err.Error() + "; create it, or correct the reference", false}
	case errors.As(err, &missingKey):
		reason := v1alpha1.ReasonSecretKeyNotFound
		if missingKey.Kind == refs.ConfigMap {
			reason = v1alpha1.ReasonConfigMapNotFound
		}
		return &Refusal{reason, err.Error() + "; add the key, or correct the reference", false}
	case errors.As(err, &denied):
		return &Refusal{v1alpha1.ReasonSecretAccessDenied, err.Error(), false}
	}
	return err
}

// badHeaderByte is the offset of the first byte that is not printable ASCII, a space or a tab; -1 when there is none
// (RFC 9110 section 5.5 without the obsolete obs-text).
func badHeaderByte(text string) int {
	for i := range len(text) {
		if c := text[i]; c != '\t' && (c < ' ' || c > '~') {
			return i
		}
	}
	return -1
}
