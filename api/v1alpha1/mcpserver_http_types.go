package v1alpha1

// HTTPTransport reaches an MCP server over HTTP.
type HTTPTransport struct {
	// url is the server's MCP endpoint, such as https://mcp.example.com/mcp. $(NAME) may stand in path and query and
	// is replaced from spec.variables.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	URL string `json:"url,omitempty"`

	// protocol is the MCP transport: StreamableHTTP, SSE (HTTP with SSE of protocol version 2024-11-05), or Auto,
	// which tries the first and then the second. Absent means Auto.
	// +optional
	Protocol HTTPProtocol `json:"protocol,omitempty"`

	// headers are sent with every request to the server. Names are compared without regard to case.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	Headers []Header `json:"headers,omitempty"`

	// auth says how requests are authenticated. At most one kind is set.
	// +optional
	Auth *Auth `json:"auth,omitempty"`

	// tls says whom to trust and who we are, for https URLs.
	// +optional
	TLS *TLS `json:"tls,omitempty"`

	// proxyURL is an HTTP proxy to go through, such as http://proxy.corp:3128. Absent means the proxy of the
	// manager's environment, if any.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	ProxyURL string `json:"proxyURL,omitempty"`
}

// HTTPProtocol is an MCP transport over HTTP.
// +kubebuilder:validation:Enum=Auto;StreamableHTTP;SSE
type HTTPProtocol string

// The transports over HTTP.
const (
	ProtocolAuto           HTTPProtocol = "Auto"
	ProtocolStreamableHTTP HTTPProtocol = "StreamableHTTP"
	ProtocolSSE            HTTPProtocol = "SSE"
)

// Header is one HTTP header. Exactly one of value and valueFrom is set.
type Header struct {
	// name is the header's name (RFC 9110 token).
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Name string `json:"name,omitempty"`

	// value is the value in clear. $(NAME) is replaced from spec.variables.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Value string `json:"value,omitempty"`

	// valueFrom takes the value from a Secret.
	// +optional
	ValueFrom *ValueSource `json:"valueFrom,omitempty"`
}

// Auth says how requests are authenticated. Exactly one member is set.
type Auth struct {
	// bearer sends "Authorization: Bearer" with a token from a Secret.
	// +optional
	Bearer *ValueSource `json:"bearer,omitempty"`

	// oauthClientCredentials gets access tokens by the OAuth 2.0 client credentials grant (RFC 6749 section 4.4).
	// +optional
	OAuthClientCredentials *OAuthClientCredentials `json:"oauthClientCredentials,omitempty"`
}

// OAuthClientCredentials gets access tokens by the OAuth 2.0 client credentials grant.
type OAuthClientCredentials struct {
	// tokenURL is the token endpoint of the authorization server.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	TokenURL string `json:"tokenURL,omitempty"`

	// clientID is the client's identifier.
	// +required
	ClientID ClientID `json:"clientID,omitzero"`

	// clientSecret is the client's secret.
	// +required
	ClientSecret ValueSource `json:"clientSecret,omitzero"`

	// scopes are asked for with the token.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	Scopes []string `json:"scopes,omitempty"`

	// audience is asked for with the token, where the authorization server wants it.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	Audience string `json:"audience,omitempty"`
}

// ClientID is an OAuth client identifier. Exactly one of value and secretKeyRef is set.
type ClientID struct {
	// value is the identifier in clear.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Value string `json:"value,omitempty"`

	// secretKeyRef takes the identifier from a Secret.
	// +optional
	SecretKeyRef *SecretKeyReference `json:"secretKeyRef,omitempty"`
}

// TLS says whom to trust and who we are.
// +kubebuilder:validation:MinProperties=1
type TLS struct {
	// caBundleRef names PEM certificates to trust instead of the system's.
	// +optional
	CABundleRef *CABundleReference `json:"caBundleRef,omitempty"`

	// clientCertificateRef names a Secret of type kubernetes.io/tls whose tls.crt and tls.key are shown to the
	// server.
	// +optional
	ClientCertificateRef *SecretReference `json:"clientCertificateRef,omitempty"`

	// serverName is the host name that the server's certificate must be for, where it is not the URL's.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ServerName string `json:"serverName,omitempty"`
}
