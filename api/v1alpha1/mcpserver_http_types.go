package v1alpha1

// HTTPTransport reaches an MCP server over HTTP.
//
// +kubebuilder:validation:XValidation:rule=`self.url.matches(r'^https?://')`,message=`url must begin with https:// or http://`,fieldPath=`.url`
// +kubebuilder:validation:XValidation:rule=`self.url.matches(r'^[!-~]*$')`,message=`url must be printable ASCII without spaces: percent-encode other characters`,fieldPath=`.url`
// +kubebuilder:validation:XValidation:rule=`!self.url.matches(r'^[a-z]*://[^/?#]*@')`,message=`url must not hold user-info (user:password@): put the credential in a Secret and refer to it from auth or headers`,fieldPath=`.url`
// +kubebuilder:validation:XValidation:rule=`!self.url.contains('#')`,message=`url must not have a fragment (#...): a server never sees it`,fieldPath=`.url`
// +kubebuilder:validation:XValidation:rule=`!self.url.matches(r'^[^/?]*(//[^/?#]*)?[$]')`,message=`$(NAME) is allowed only in the path and query of url, not in its scheme, host or port`,fieldPath=`.url`
// +kubebuilder:validation:XValidation:rule=`!self.url.matches(r'^https?://[^/?#$@]*([/?][!-~]*)?$') || (isURL(self.url) && self.url.matches(r'^https?://([A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?[.]?|\[[0-9A-Fa-f:.]+\])(:([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]))?([/?]|$)'))`,message=`url must be a valid URL with a host, such as https://mcp.example.com/mcp: check its host, port and percent-encoding`,fieldPath=`.url`
// +kubebuilder:validation:XValidation:rule=`!self.url.contains('?') || self.url.split('?', 2)[1].split('&').all(p, !p.matches(r'(?i)^([^=]*(%[0-9a-f][0-9a-f]|[^a-z0-9=]))?(api|access|account|auth|bearer|client|id|personal|private|refresh|secret|session|subscription|user)?(token|key|secret|sig|signature|password|passwd|passphrase|pwd|auth|authorization|credentials?|bearer|jwt)([^a-z0-9=][^=]*)?(=.*)?$') || p.matches(r'^[^=]*=[$][(][A-Za-z_][A-Za-z0-9_]*[)]$'))`,message=`a query parameter of url that looks like a credential (key, token, secret, ...) must have exactly one $(NAME) as its value: define NAME in spec.variables with valueFrom`,fieldPath=`.url`
// +kubebuilder:validation:XValidation:rule=`!has(self.headers) || self.headers.all(h, self.headers.exists_one(g, g.name.lowerAscii() == h.name.lowerAscii()))`,message=`header names must differ in more than upper and lower case`,fieldPath=`.headers`
// +kubebuilder:validation:XValidation:rule=`!has(self.auth) || !has(self.headers) || !self.headers.exists(h, h.name.lowerAscii() == 'authorization')`,message=`set either auth or a header Authorization, not both`,fieldPath=`.headers`
// +kubebuilder:validation:XValidation:rule=`!has(self.tls) || !self.url.startsWith('http://')`,message=`tls needs a url that begins with https://`,fieldPath=`.tls`
// +kubebuilder:validation:XValidation:rule=`!has(self.proxyURL) || (self.proxyURL.matches(r'^https?://([A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?[.]?|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?/?$') && isURL(self.proxyURL))`,message=`proxyURL must be of the form http://host:port or https://host:port, without user-info, path and query`,fieldPath=`.proxyURL`
type HTTPTransport struct {
	// url is the server's MCP endpoint, such as https://mcp.example.com/mcp. $(NAME) is allowed in path and query and
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
//
// +kubebuilder:validation:XValidation:rule=`has(self.value) != has(self.valueFrom)`,message=`set exactly one of value and valueFrom`
// +kubebuilder:validation:XValidation:rule=`self.name.matches(r'^[A-Za-z0-9!#$%&*+.^_|~\x27\x60-]+$')`,message=`name must be a header name: letters, digits and - _ . and the like, without spaces and ':'`,fieldPath=`.name`
// +kubebuilder:validation:XValidation:rule=`!(self.name.lowerAscii() in ['connection', 'keep-alive', 'proxy-connection', 'proxy-authenticate', 'proxy-authorization', 'te', 'trailer', 'transfer-encoding', 'upgrade', 'expect', 'host', 'content-length', 'content-type', 'content-encoding', 'accept', 'accept-encoding', 'last-event-id']) && !self.name.lowerAscii().startsWith('mcp-')`,message=`name must not be a header that the HTTP or MCP client sets automatically (Host, Accept, Content-*, Connection, Mcp-*, ...)`,fieldPath=`.name`
// +kubebuilder:validation:XValidation:rule=`!has(self.value) || self.name.lowerAscii() != 'authorization' || self.value.matches(r'^([A-Za-z0-9_-]+ )?[$][(][A-Za-z_][A-Za-z0-9_]*[)]$')`,message=`an Authorization header must not hold a credential in clear: use auth.bearer, or valueFrom`,fieldPath=`.value`
// +kubebuilder:validation:XValidation:rule=`!has(self.value) || self.value.matches(r'^[!-~]([ -~]*[!-~])?$')`,message=`value must be printable ASCII without leading or trailing spaces`,fieldPath=`.value`
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
//
// +kubebuilder:validation:XValidation:rule=`has(self.bearer) != has(self.oauthClientCredentials)`,message=`set exactly one of bearer and oauthClientCredentials`
type Auth struct {
	// bearer sends "Authorization: Bearer" with a token from a Secret.
	// +optional
	Bearer *ValueSource `json:"bearer,omitempty"`

	// oauthClientCredentials gets access tokens by the OAuth 2.0 client credentials grant (RFC 6749 section 4.4).
	// +optional
	OAuthClientCredentials *OAuthClientCredentials `json:"oauthClientCredentials,omitempty"`
}

// OAuthClientCredentials gets access tokens by the OAuth 2.0 client credentials grant.
//
// +kubebuilder:validation:XValidation:rule=`(self.tokenURL.matches(r'^https://([A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?[.]?|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?([/?]|$)') || self.tokenURL.matches(r'(?i)^http://(localhost|127[.][0-9]+[.][0-9]+[.][0-9]+|\[::1\]|([a-z0-9-]+[.])+svc([.]cluster[.]local)?[.]?)(:[0-9]+)?([/?]|$)')) && !self.tokenURL.contains('#') && isURL(self.tokenURL)`,message=`tokenURL must be an https URL without user-info and fragment (http only for a host that is loopback or ends in .svc)`,fieldPath=`.tokenURL`
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
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:XValidation:rule=`has(self.value) != has(self.secretKeyRef)`,message=`set exactly one of value and secretKeyRef`
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
	// caBundleRef names PEM certificates to trust in addition to the system's.
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
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^([A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?[.])*[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?$')`,message=`serverName must be a host name such as mcp.example.com`
	ServerName string `json:"serverName,omitempty"`
}
