package builder

import (
	corev1 "k8s.io/api/core/v1"

	mooringv1alpha1 "github.com/mooring-dev/mooring/api/v1alpha1"
)

// FromSecret refers to one key of a Secret.
func FromSecret(secret, key string) *mooringv1alpha1.ValueSource {
	return &mooringv1alpha1.ValueSource{
		SecretKeyRef: mooringv1alpha1.SecretKeyReference{Name: secret, Key: key},
	}
}

// SecretBuilder builds a Secret.
type SecretBuilder struct {
	obj corev1.Secret
}

// Secret begins an empty Secret of type Opaque.
func Secret(namespace, name string) *SecretBuilder {
	b := &SecretBuilder{}
	b.obj.Namespace, b.obj.Name = namespace, name
	b.obj.Type = corev1.SecretTypeOpaque
	b.obj.Data = map[string][]byte{}
	return b
}

// Key sets the value of one key.
func (b *SecretBuilder) Key(key, value string) *SecretBuilder {
	b.obj.Data[key] = []byte(value)
	return b
}

// TLS makes it a Secret of type kubernetes.io/tls with these PEM blocks.
func (b *SecretBuilder) TLS(certificate, privateKey []byte) *SecretBuilder {
	b.obj.Type = corev1.SecretTypeTLS
	b.obj.Data[corev1.TLSCertKey] = certificate
	b.obj.Data[corev1.TLSPrivateKeyKey] = privateKey
	return b
}

// Obj returns a copy of what was built so far.
func (b *SecretBuilder) Obj() *corev1.Secret {
	return b.obj.DeepCopy()
}

// ConfigMapBuilder builds a ConfigMap.
type ConfigMapBuilder struct {
	obj corev1.ConfigMap
}

// ConfigMap begins an empty ConfigMap.
func ConfigMap(namespace, name string) *ConfigMapBuilder {
	b := &ConfigMapBuilder{}
	b.obj.Namespace, b.obj.Name = namespace, name
	b.obj.Data = map[string]string{}
	return b
}

// Key sets the value of one key.
func (b *ConfigMapBuilder) Key(key, value string) *ConfigMapBuilder {
	b.obj.Data[key] = value
	return b
}

// Obj returns a copy of what was built so far.
func (b *ConfigMapBuilder) Obj() *corev1.ConfigMap {
	return b.obj.DeepCopy()
}
