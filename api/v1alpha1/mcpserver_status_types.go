package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MCPServerStatus is what Mooring observed of a server. It is written on changes only and holds no secret.
type MCPServerStatus struct {
	// observedGeneration is the metadata.generation that was last acted on, -1 before the first.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions tell the state of the server: Ready, Accepted, Connected, CatalogPublished; and, only while True,
	// ToolsDrifted, Quarantined, Retired, Reconciling, Stalled.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// transport is how the server is spoken to: HTTP, SSE or stdio.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Transport string `json:"transport,omitempty"`

	// server is what the server says of itself.
	// +optional
	Server *ServerStatus `json:"server,omitempty"`

	// session is the standing of the session by which the server is watched and its tools are listed.
	// +optional
	Session *SessionStatus `json:"session,omitempty"`

	// calls is what the gateways see when they carry calls.
	// +optional
	Calls *CallsStatus `json:"calls,omitempty"`

	// catalog is the published catalog.
	// +optional
	Catalog *CatalogStatus `json:"catalog,omitempty"`

	// warnings are the first findings about the server's tools; warningCount counts them all.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	Warnings []Warning `json:"warnings,omitempty"`

	// warningCount is the number of findings, also of those that warnings leaves out.
	// +optional
	WarningCount *int32 `json:"warningCount,omitempty"`

	// lastHandledReconnectAt echoes the value of the annotation mooring.dev/reconnect that was last acted on.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	LastHandledReconnectAt string `json:"lastHandledReconnectAt,omitempty"`
}

// The values of MCPServerStatus.Transport.
const (
	TransportHTTP  = "HTTP"
	TransportSSE   = "SSE"
	TransportStdio = "stdio"
)

// ServerStatus is what a server says of itself in the handshake, sanitised and shortened.
type ServerStatus struct {
	// name is the server's name.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Name string `json:"name,omitempty"`

	// title is the server's name for people.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Title string `json:"title,omitempty"`

	// version is the server's version.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Version string `json:"version,omitempty"`

	// protocolVersion is the MCP protocol version in use.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	ProtocolVersion string `json:"protocolVersion,omitempty"`
}

// SessionStatus is the standing of a server's session. Strikes, quarantinedUntil, retiredAt and retirement survive a
// restart of the manager.
type SessionStatus struct {
	// state is Connecting, Connected, Waiting (an attempt failed, the next is due), Quarantined or Retired.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	State string `json:"state,omitempty"`

	// strikes counts quarantines without an answer of the server between them.
	// +optional
	Strikes *int32 `json:"strikes,omitempty"`

	// quarantinedUntil is when the server will be tried again.
	// +optional
	QuarantinedUntil *metav1.Time `json:"quarantinedUntil,omitempty"`

	// retiredAt is when the server was retired.
	// +optional
	RetiredAt *metav1.Time `json:"retiredAt,omitempty"`

	// retirement is the kind of retirement: Refused (the server or its identity was refused; somebody must act) or
	// Exhausted (it failed too often).
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Retirement string `json:"retirement,omitempty"`

	// references tells the versions of the Secrets and ConfigMaps that the server refers to while it is Quarantined or
	// Retired, as a hash of their UIDs and resource versions, not of what they hold. A manager that starts and finds
	// other ones tries at once.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	References string `json:"references,omitempty"`

	// lastFailure is what keeps, or last kept, the session from being connected.
	// +optional
	LastFailure *FailureStatus `json:"lastFailure,omitempty"`
}

// The values of SessionStatus.State.
const (
	SessionConnecting  = "Connecting"
	SessionConnected   = "Connected"
	SessionWaiting     = "Waiting"
	SessionQuarantined = "Quarantined"
	SessionRetired     = "Retired"
)

// The values of SessionStatus.Retirement.
const (
	RetirementRefused   = "Refused"
	RetirementExhausted = "Exhausted"
)

// FailureStatus describes one kind of failure. Nothing in it is secret.
type FailureStatus struct {
	// class is auth, permission, quota, rateLimit, sessionLost, server, protocol, timeout, transport or unknown.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Class string `json:"class,omitempty"`

	// phase is what was being done: connect, list, probe, call or stream.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Phase string `json:"phase,omitempty"`

	// reason is the reason that the failure gives to conditions.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Reason string `json:"reason,omitempty"`

	// httpStatus is the status of the HTTP answer, absent when there was none.
	// +optional
	HTTPStatus *int32 `json:"httpStatus,omitempty"`

	// message says what happened and what to do.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	Message string `json:"message,omitempty"`

	// since is when this kind of failure began.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`
}

// CallsStatus is what the gateways see when they carry calls to a server.
type CallsStatus struct {
	// state is Healthy, Degraded (some gateways' calls fail) or Failing (every reporting gateway's do).
	// +optional
	// +kubebuilder:validation:MaxLength=32
	State string `json:"state,omitempty"`

	// class is the class of the failure, as in session.lastFailure.class.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Class string `json:"class,omitempty"`

	// since is when the state began.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`
}

// The values of CallsStatus.State.
const (
	CallsHealthy  = "Healthy"
	CallsDegraded = "Degraded"
	CallsFailing  = "Failing"
)

// CatalogStatus describes a published catalog.
type CatalogStatus struct {
	// configMap is the name of the ConfigMap that holds the catalog, in the same namespace.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ConfigMap string `json:"configMap,omitempty"`

	// encoding is identity (key catalog.json of data) or gzip (key catalog.json.gz of binaryData).
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Encoding string `json:"encoding,omitempty"`

	// digest identifies the tools, as the server lists them.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Digest string `json:"digest,omitempty"`

	// pinnedDigest identifies the tools that were approved.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	PinnedDigest string `json:"pinnedDigest,omitempty"`

	// toolCount is the number of tools.
	// +optional
	ToolCount *int32 `json:"toolCount,omitempty"`

	// bytes is the size of the catalog document before compression.
	// +optional
	Bytes *int64 `json:"bytes,omitempty"`

	// estimatedTokens estimates how many tokens of a model's context the tools take.
	// +optional
	EstimatedTokens *int64 `json:"estimatedTokens,omitempty"`

	// configHash identifies the configuration that the catalog was listed under.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	ConfigHash string `json:"configHash,omitempty"`

	// confirmedAt is when the server last listed these tools, to within a day: it is written anew when they change, and
	// else at most once a day. 30 days after it, until the server lists again, they are offered to no AgentSession that
	// does not have them already.
	// +optional
	ConfirmedAt *metav1.Time `json:"confirmedAt,omitempty"`
}

// The values of CatalogStatus.Encoding.
const (
	EncodingIdentity = "identity"
	EncodingGzip     = "gzip"
)

// Warning is one finding about a server's tools that does not keep them from being used.
type Warning struct {
	// type is what was found, such as OutputSchemaDropped, ToolTooLarge or TextSanitised.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Type string `json:"type,omitempty"`

	// tool is the raw name of the tool, absent when the finding is about the whole list.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Tool string `json:"tool,omitempty"`

	// message says what was found.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`
}
