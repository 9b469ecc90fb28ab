package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AgentSessionStatus is what Mooring offers an agent, and the state of its servers. It is written on changes only and
// holds no secret.
type AgentSessionStatus struct {
	// observedGeneration is the metadata.generation that was last acted on, -1 before the first.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions tell the state of the session: Ready, ServersResolved, CatalogPublished; and, only while True,
	// Reconciling, Stalled.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// servers are the chosen servers, by namespace and name; the first 1000 of them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1000
	Servers []SessionServerStatus `json:"servers,omitempty"`

	// summary is how many of the selected servers can be used, such as 3/4. Filtered ones are in neither number.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Summary string `json:"summary,omitempty"`

	// nativeKeys name the Secrets that hold the keys of services that the agent covers natively, for the author of
	// its pod to mount. Nothing is copied.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	NativeKeys []NativeKey `json:"nativeKeys,omitempty"`

	// catalog is the published catalog.
	// +optional
	Catalog *SessionCatalogStatus `json:"catalog,omitempty"`

	// startup tells how the wait before the first catalog ended, or that before the one after the last reload.
	// +optional
	Startup *StartupStatus `json:"startup,omitempty"`

	// endpoint is the URL at which the gateway serves this agent. Absent where the manager runs without --gateway-url.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	Endpoint string `json:"endpoint,omitempty"`

	// lastHandledReloadAt echoes the value of the annotation mooring.dev/reload that was last acted on.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	LastHandledReloadAt string `json:"lastHandledReloadAt,omitempty"`
}

// SessionServerStatus is the state of one server in an agent session.
type SessionServerStatus struct {
	// name is the name of the MCPServer.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// namespace is the namespace of the MCPServer.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`

	// state is Connected, Connecting, Deferred (its stored tools are offered, a call waits for the connection),
	// Disconnected, Filtered (left out by the declaration), NotFound, or NotPermitted (its namespace does not permit
	// its use from here).
	// +optional
	// +kubebuilder:validation:MaxLength=32
	State string `json:"state,omitempty"`

	// tools is how many of the server's tools are offered.
	// +optional
	Tools *int32 `json:"tools,omitempty"`

	// source says where the server was declared: "mcp:<name> via <provider>".
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Source string `json:"source,omitempty"`

	// class is the class of the failure that keeps the server from being used, such as auth or timeout.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Class string `json:"class,omitempty"`

	// message says what keeps the server from being used, or why it was left out.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`

	// calls is what the gateways see when they carry this agent's calls to the server.
	// +optional
	Calls *CallsStatus `json:"calls,omitempty"`
}

// The values of SessionServerStatus.State.
const (
	ServerConnected    = "Connected"
	ServerConnecting   = "Connecting"
	ServerDeferred     = "Deferred"
	ServerDisconnected = "Disconnected"
	ServerFiltered     = "Filtered"
	ServerNotFound     = "NotFound"
	ServerNotPermitted = "NotPermitted"
)

// NativeKey says where the key of a service is that an agent covers natively.
type NativeKey struct {
	// env is the environment variable by which the agent takes the key, such as EXA_API_KEY.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Env string `json:"env,omitempty"`

	// secretKeyRef is where the key is, as a pod's env takes it.
	// +optional
	SecretKeyRef *NativeKeySource `json:"secretKeyRef,omitempty"`
}

// NativeKeySource names one key of a Secret in the namespace of the AgentSession. Unlike a reference of a spec, it
// requires nothing, as no field of a status does.
type NativeKeySource struct {
	// name is the name of the Secret.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// key is the key in the Secret's data.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key,omitempty"`
}

// SessionCatalogStatus describes the published catalog of an agent session.
type SessionCatalogStatus struct {
	// configMap is the name of the ConfigMap that holds the catalog, in the same namespace.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ConfigMap string `json:"configMap,omitempty"`

	// encoding is identity (key catalog.json of data) or gzip (key catalog.json.gz of binaryData).
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Encoding string `json:"encoding,omitempty"`

	// digest identifies what is offered: the catalog without its errors.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Digest string `json:"digest,omitempty"`

	// revision is the beginning of digest, for people.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Revision string `json:"revision,omitempty"`

	// toolCount is the number of tools that are offered.
	// +optional
	ToolCount *int32 `json:"toolCount,omitempty"`
}

// StartupStatus tells how the wait before a first catalog ended.
type StartupStatus struct {
	// outcome is Settled (every server's first attempt had ended in time), Deferred (startupTimeout passed, and the
	// stored tools of late servers were offered) or Waited (a server without stored tools was waited for beyond it).
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Outcome string `json:"outcome,omitempty"`
}

// The values of StartupStatus.Outcome.
const (
	StartupSettled  = "Settled"
	StartupDeferred = "Deferred"
	StartupWaited   = "Waited"
)
