package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MCPServerSpec declares one MCP server and how it is to be used. Exactly one transport, http or stdio, is set.
//
// +kubebuilder:validation:XValidation:rule=`has(self.http) != has(self.stdio)`,message=`set exactly one transport: http or stdio`
// +kubebuilder:validation:XValidation:rule=`!has(self.http) || !self.http.url.startsWith('http://') || self.http.url.matches(r'(?i)^http://(localhost|127[.][0-9]+[.][0-9]+[.][0-9]+|\[::1\]|([a-z0-9-]+[.])+svc([.]cluster[.]local)?[.]?)(:[0-9]+)?([/?]|$)') || !(has(self.http.auth) || (has(self.http.headers) && self.http.headers.exists(h, has(h.valueFrom))) || (has(self.variables) && self.variables.exists(v, has(v.valueFrom)) && (self.http.url.contains('$(') || (has(self.http.headers) && self.http.headers.exists(h, has(h.value) && h.value.contains('$('))))))`,message=`credentials must not travel over plain http: use an https URL, or a host that is loopback or ends in .svc`,fieldPath=`.http.url`
type MCPServerSpec struct {
	// http reaches the server over HTTP: streamable HTTP or the older HTTP with SSE.
	// +optional
	HTTP *HTTPTransport `json:"http,omitempty"`

	// stdio runs the server as a pod and speaks to it over its standard input and output. This version of Mooring does
	// not run processes yet: unless the server is disabled, it is refused with reason NotSupportedYet.
	// +optional
	Stdio *StdioTransport `json:"stdio,omitempty"`

	// variables are the values of $(NAME) in the URL, header values, arguments and environment values. They are
	// replaced as text; nothing is run through a shell.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	Variables []Variable `json:"variables,omitempty"`

	// disabled keeps the declaration but holds no session.
	// +optional
	Disabled bool `json:"disabled,omitempty"`

	// level says whose configuration this is: Project or User. An AgentSession with projectConfig Disabled leaves
	// servers of level Project out. Absent means Project.
	// +optional
	Level Level `json:"level,omitempty"`

	// provider says where the declaration came from, such as claude-code. It is shown as "mcp:<name> via <provider>".
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^[A-Za-z0-9][A-Za-z0-9 ._/@-]*$')`,message=`provider must begin with a letter or digit and consist of letters, digits, spaces and . _ / @ -`
	Provider string `json:"provider,omitempty"`

	// notes is one paragraph for agents: what this connection is for.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	Notes string `json:"notes,omitempty"`

	// protocolVersion pins the MCP protocol version, such as 2025-11-25. Absent means that it is negotiated.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^[0-9]{4}-[0-9]{2}-[0-9]{2}$')`,message=`protocolVersion must be a date such as 2025-11-25`
	ProtocolVersion string `json:"protocolVersion,omitempty"`

	// timeouts bound the parts of a session's work.
	// +optional
	Timeouts *Timeouts `json:"timeouts,omitempty"`

	// calls bounds and permits tool calls.
	// +optional
	Calls *Calls `json:"calls,omitempty"`

	// recovery says how often and how long a failing server is tried.
	// +optional
	Recovery *Recovery `json:"recovery,omitempty"`

	// sessions says who shares a session with the server.
	// +optional
	Sessions *Sessions `json:"sessions,omitempty"`

	// health says how often a silent server is probed.
	// +optional
	Health *Health `json:"health,omitempty"`

	// tools says which of the server's tools are offered.
	// +optional
	Tools *Tools `json:"tools,omitempty"`

	// allowedNamespaces says whose AgentSessions may use this server. Using it never reveals its credential.
	// Absent means those of the same namespace.
	// +optional
	AllowedNamespaces *AllowedNamespaces `json:"allowedNamespaces,omitempty"`
}

// Level says whose configuration a declaration is.
// +kubebuilder:validation:Enum=Project;User
type Level string

// The levels.
const (
	// LevelProject: the declaration belongs to the project that agents work on.
	LevelProject Level = "Project"
	// LevelUser: the declaration belongs to the person whom agents work for.
	LevelUser Level = "User"
)

// Variable is one value for $(NAME). Exactly one of value and valueFrom is set.
//
// +kubebuilder:validation:XValidation:rule=`has(self.value) != has(self.valueFrom)`,message=`set exactly one of value and valueFrom`
type Variable struct {
	// name is what is between $( and ).
	// +required
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^[A-Za-z_][A-Za-z0-9_]*$')`,message=`name must consist of letters, digits and '_', and not begin with a digit`
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name,omitempty"`

	// value is the value in clear.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Value *string `json:"value,omitempty"`

	// valueFrom takes the value from a Secret.
	// +optional
	ValueFrom *ValueSource `json:"valueFrom,omitempty"`
}

// StdioTransport runs an MCP server as a pod. Commands are executed as given, never by a shell.
type StdioTransport struct {
	// image is the container image that holds the server.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^[A-Za-z0-9][A-Za-z0-9._/:@-]*$')`,message=`image must be an image reference such as ghcr.io/acme/server:1.2`
	Image string `json:"image,omitempty"`

	// command is the executable and its first arguments.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=4096
	Command []string `json:"command,omitempty"`

	// args are further arguments. $(NAME) is replaced from spec.variables.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=4096
	Args []string `json:"args,omitempty"`

	// env is the environment of the server's process.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Env []EnvVar `json:"env,omitempty"`

	// resources are the compute resources of the server's container.
	// +optional
	Resources *Resources `json:"resources,omitempty"`
}

// EnvVar is one variable of a process's environment. Exactly one of value and valueFrom is set.
//
// +kubebuilder:validation:XValidation:rule=`has(self.value) != has(self.valueFrom)`,message=`set exactly one of value and valueFrom`
type EnvVar struct {
	// name is the variable's name.
	// +required
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^[A-Za-z_][A-Za-z0-9_]*$')`,message=`name must consist of letters, digits and '_', and not begin with a digit`
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name,omitempty"`

	// value is the value in clear. $(NAME) is replaced from spec.variables.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Value *string `json:"value,omitempty"`

	// valueFrom takes the value from a Secret.
	// +optional
	ValueFrom *ValueSource `json:"valueFrom,omitempty"`
}

// Resources are the compute resources of a container.
type Resources struct {
	// requests are the amounts that the container is sure to get.
	// +optional
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=16
	Requests corev1.ResourceList `json:"requests,omitempty"`

	// limits are the amounts that the container may not exceed.
	// +optional
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=16
	Limits corev1.ResourceList `json:"limits,omitempty"`
}

// MCPServer declares one MCP server. Mooring keeps a live session to it, says in status whether that session really
// works, and publishes the server's tools in the ConfigMap that status.catalog.configMap names.
//
// +kubebuilder:validation:XValidation:rule=`self.metadata.name.size() <= 40`,message=`metadata.name must be at most 40 characters long: other objects are named after it`
// +kubebuilder:validation:XValidation:rule=`self.metadata.name.matches(r'^[a-z0-9-]*$')`,message=`metadata.name must consist of lower case letters, digits and '-', without '.'`
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=mcps,categories=mooring
// +kubebuilder:printcolumn:name="Transport",type=string,JSONPath=`.status.transport`
// +kubebuilder:printcolumn:name="Tools",type=integer,JSONPath=`.status.catalog.toolCount`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Retry-at",type=string,priority=1,JSONPath=`.status.session.quarantinedUntil`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type MCPServer struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec declares the server.
	// +required
	Spec MCPServerSpec `json:"spec,omitzero"`

	// status is what Mooring observed of the server.
	// +optional
	// +kubebuilder:default={"observedGeneration":-1}
	Status MCPServerStatus `json:"status,omitzero"`
}

// MCPServerList is a list of MCPServers.
//
// +kubebuilder:object:root=true
type MCPServerList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []MCPServer `json:"items"`
}
