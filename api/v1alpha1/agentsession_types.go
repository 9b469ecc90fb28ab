package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AgentSessionSpec says which servers and which of their tools one agent is offered, and who may connect as it. An
// empty spec offers every MCPServer of the namespace.
//
// +kubebuilder:validation:XValidation:rule=`!has(self.allowedServiceAccounts) || self.allowedServiceAccounts.all(a, self.allowedServiceAccounts.exists_one(b, a.name == b.name && (has(a.__namespace__) ? has(b.__namespace__) && a.__namespace__ == b.__namespace__ : !has(b.__namespace__))))`,message=`allowedServiceAccounts must not name a service account twice`,fieldPath=`.allowedServiceAccounts`
type AgentSessionSpec struct {
	// mcp is Enabled or Disabled. With Disabled an empty catalog is published, whatever else is declared. Absent
	// means Enabled.
	// +optional
	MCP Toggle `json:"mcp,omitempty"`

	// servers says which servers are offered. Absent means every MCPServer of the namespace; with parentRef, every
	// server of the parent.
	// +optional
	Servers *ServerSelection `json:"servers,omitempty"`

	// projectConfig is Enabled or Disabled. With Disabled servers of level Project are left out. Absent means
	// Enabled.
	// +optional
	ProjectConfig Toggle `json:"projectConfig,omitempty"`

	// nativeIntegrations are services that the agent covers natively: a server that offers nothing beyond one of
	// them is left out, and status.nativeKeys names the Secret that holds its key. The only one is Exa. Absent or
	// empty means none.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	NativeIntegrations []NativeIntegration `json:"nativeIntegrations,omitempty"`

	// startupTimeout is how long the first catalog waits for servers whose first attempt has not ended; one without
	// a stored catalog is waited for longer. From 0s to 30s; absent means 250ms.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^([0-9]{1,5}([.][0-9]{1,9})?(h|m|s)|[0-9]{1,8}([.][0-9]{1,9})?ms){1,4}$') && (duration(self) >= duration('0s') && duration(self) <= duration('30s'))`,message=`startupTimeout must be a duration from 0s to 30s, such as 250ms`
	StartupTimeout *metav1.Duration `json:"startupTimeout,omitempty"`

	// exposure is Tools (every tool by its exposed name) or Dispatch (two tools, describe_mcp and call_mcp, that
	// reach them all). Absent means Tools.
	// +optional
	Exposure Exposure `json:"exposure,omitempty"`

	// tools says which tools are offered. It holds when they are called, too.
	// +optional
	Tools *ToolFilter `json:"tools,omitempty"`

	// parentRef makes this a subagent of another AgentSession: it is offered a subset of the parent's servers, and
	// calls go through the parent's sessions.
	// +optional
	ParentRef *AgentSessionReference `json:"parentRef,omitempty"`

	// allowedServiceAccounts may connect as this agent, besides those whom RBAC lets use this agentsession.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	AllowedServiceAccounts []ServiceAccountReference `json:"allowedServiceAccounts,omitempty"`
}

// Toggle says whether something is on.
// +kubebuilder:validation:Enum=Enabled;Disabled
type Toggle string

// The positions of a toggle.
const (
	ToggleEnabled  Toggle = "Enabled"
	ToggleDisabled Toggle = "Disabled"
)

// NativeIntegration is a service that an agent can use without MCP.
// +kubebuilder:validation:Enum=Exa
type NativeIntegration string

// NativeExa is web search by Exa. A server covers it that is named exa or reached at mcp.exa.ai.
const NativeExa NativeIntegration = "Exa"

// Exposure says how tools are shown to an agent.
// +kubebuilder:validation:Enum=Tools;Dispatch
type Exposure string

// The ways to show tools.
const (
	// ExposureTools: every tool under its exposed name.
	ExposureTools Exposure = "Tools"
	// ExposureDispatch: two tools, one that describes the others and one that calls them, which costs a model
	// little context however many there are.
	ExposureDispatch Exposure = "Dispatch"
)

// ServerSelection says which servers are offered: those that selector or refs choose, without those of exclude.
//
// +kubebuilder:validation:XValidation:rule=`!has(self.exclude) || self.exclude.size() == 0 || has(self.selector) || has(self.refs)`,message=`exclude takes from what selector and refs choose: set one of them (selector: {} chooses every MCPServer of the namespace)`,fieldPath=`.exclude`
// +kubebuilder:validation:XValidation:rule=`!has(self.refs) || self.refs.all(a, self.refs.exists_one(b, a.name == b.name && (has(a.__namespace__) ? has(b.__namespace__) && a.__namespace__ == b.__namespace__ : !has(b.__namespace__))))`,message=`refs must not name a server twice`,fieldPath=`.refs`
type ServerSelection struct {
	// selector chooses MCPServers of the namespace by their labels; the empty selector chooses all. Absent means
	// none.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`

	// refs choose single MCPServers, also such as selector does not match. Each is named once.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Refs []ServerReference `json:"refs,omitempty"`

	// exclude leaves out MCPServers of the namespace, however they were chosen.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=256
	Exclude []ServerExclusion `json:"exclude,omitempty"`
}

// ServerReference names one MCPServer.
type ServerReference struct {
	// name is the name of the MCPServer.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^([a-z0-9]([a-z0-9-]*[a-z0-9])?)?$')`,message=`name must be the name of an MCPServer: lower case letters, digits and '-', with a letter or digit at either end`
	Name string `json:"name,omitempty"`

	// namespace is the namespace of the MCPServer. In another namespace than the AgentSession's, the MCPServer must
	// permit it by its allowedNamespaces. Absent means the AgentSession's own.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^([a-z0-9]([a-z0-9-]*[a-z0-9])?)?$')`,message=`namespace must be the name of a namespace: lower case letters, digits and '-', with a letter or digit at either end`
	Namespace string `json:"namespace,omitempty"`

	// required keeps the AgentSession from being Ready while this server cannot be used.
	// +optional
	Required bool `json:"required,omitempty"`
}

// ServerExclusion names one MCPServer that is left out.
type ServerExclusion struct {
	// name is the name of the MCPServer, in the AgentSession's namespace.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^([a-z0-9]([a-z0-9-]*[a-z0-9])?)?$')`,message=`name must be the name of an MCPServer: lower case letters, digits and '-', with a letter or digit at either end`
	Name string `json:"name,omitempty"`
}

// ToolFilter says which tools are offered, by their exposed names, such as mcp_github_search_code. Globs know * (any
// run of characters), ? (one character), [a-z] and [^a-z] (one of a class, or none of it), and \ (the next character as
// it is).
type ToolFilter struct {
	// allow are globs of exposed tool names that are offered. Absent or empty means all.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	Allow []string `json:"allow,omitempty"`

	// deny are globs of exposed tool names that are not offered, whatever allow says.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	Deny []string `json:"deny,omitempty"`
}

// AgentSessionReference names an AgentSession in the namespace of the object that holds the reference.
type AgentSessionReference struct {
	// name is the name of the AgentSession, in the same namespace.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^([a-z0-9]([a-z0-9-]*[a-z0-9])?)?$')`,message=`name must be the name of an AgentSession: lower case letters, digits and '-', with a letter or digit at either end`
	Name string `json:"name,omitempty"`
}

// ServiceAccountReference names one service account.
type ServiceAccountReference struct {
	// name is the name of the service account.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^([a-z0-9]([a-z0-9.-]*[a-z0-9])?)?$')`,message=`name must be the name of a service account: lower case letters, digits, '-' and '.', with a letter or digit at either end`
	Name string `json:"name,omitempty"`

	// namespace is the namespace of the service account. Absent means the AgentSession's own.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^([a-z0-9]([a-z0-9-]*[a-z0-9])?)?$')`,message=`namespace must be the name of a namespace: lower case letters, digits and '-', with a letter or digit at either end`
	Namespace string `json:"namespace,omitempty"`
}

// AgentSession declares the tools of one agent. Mooring resolves its servers, publishes their tools in the ConfigMap
// that status.catalog.configMap names, for the agent's pod to mount, and carries its calls at status.endpoint.
//
// +kubebuilder:validation:XValidation:rule=`self.metadata.name.size() <= 40`,message=`metadata.name must be at most 40 characters long: other objects are named after it`
// +kubebuilder:validation:XValidation:rule=`self.metadata.name.matches(r'^[a-z0-9-]*$')`,message=`metadata.name must consist of lower case letters, digits and '-', without '.'`
// +kubebuilder:validation:XValidation:rule=`!has(self.spec) || !has(self.spec.parentRef) || !has(self.spec.parentRef.name) || self.spec.parentRef.name != self.metadata.name`,message=`parentRef must name another AgentSession, not this one`,fieldPath=`.spec.parentRef.name`
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=asess,categories=mooring
// +kubebuilder:printcolumn:name="Servers",type=string,JSONPath=`.status.summary`
// +kubebuilder:printcolumn:name="Tools",type=integer,JSONPath=`.status.catalog.toolCount`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type AgentSession struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec declares what the agent is offered. Absent means every MCPServer of the namespace.
	// +optional
	Spec AgentSessionSpec `json:"spec,omitzero"`

	// status is what Mooring offers the agent, and the state of the servers.
	// +optional
	// +kubebuilder:default={"observedGeneration":-1}
	Status AgentSessionStatus `json:"status,omitzero"`
}

// AgentSessionList is a list of AgentSessions.
//
// +kubebuilder:object:root=true
type AgentSessionList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []AgentSession `json:"items"`
}
