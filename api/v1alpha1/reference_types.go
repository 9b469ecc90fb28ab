package v1alpha1

// SecretKeyReference names one key of a Secret in the namespace of the object that holds the reference.
type SecretKeyReference struct {
	// name is the name of the Secret, in the same namespace.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// key is the key in the Secret's data. One trailing newline of its value is ignored.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key,omitempty"`
}

// ValueSource says where a value comes from that must not be written down in clear.
type ValueSource struct {
	// secretKeyRef takes the value from a key of a Secret in the same namespace.
	// +required
	SecretKeyRef SecretKeyReference `json:"secretKeyRef,omitzero"`
}

// CABundleKind is the kind of object that holds a CA bundle.
// +kubebuilder:validation:Enum=ConfigMap;Secret
type CABundleKind string

// The kinds that may hold a CA bundle.
const (
	CABundleConfigMap CABundleKind = "ConfigMap"
	CABundleSecret    CABundleKind = "Secret"
)

// CABundleReference names one key of a ConfigMap or Secret that holds PEM certificates.
type CABundleReference struct {
	// kind is the kind of the object: ConfigMap or Secret.
	// +required
	Kind CABundleKind `json:"kind,omitempty"`

	// name is the name of the object, in the same namespace.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// key is the key whose value holds the PEM certificates, such as ca.crt.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key,omitempty"`
}

// SecretReference names a Secret in the namespace of the object that holds the reference.
type SecretReference struct {
	// name is the name of the Secret, in the same namespace.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
}
