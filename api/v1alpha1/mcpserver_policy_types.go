package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Timeouts bound the parts of a session's work.
//
// +kubebuilder:validation:XValidation:rule=`!has(self.call) || !has(self.callMax) || !self.call.matches(r'^([0-9]{1,5}([.][0-9]{1,9})?(h|m|s)|[0-9]{1,8}([.][0-9]{1,9})?ms){1,4}$') || !self.callMax.matches(r'^([0-9]{1,5}([.][0-9]{1,9})?(h|m|s)|[0-9]{1,8}([.][0-9]{1,9})?ms){1,4}$') || duration(self.callMax) >= duration(self.call)`,message=`callMax must not be below call`,fieldPath=`.callMax`
type Timeouts struct {
	// connect bounds one handshake: from dialling to the server's answer. From 1s to 10m; absent means 30s.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^([0-9]{1,5}([.][0-9]{1,9})?(h|m|s)|[0-9]{1,8}([.][0-9]{1,9})?ms){1,4}$') && (duration(self) >= duration('1s') && duration(self) <= duration('10m'))`,message=`connect must be a duration from 1s to 10m, such as 30s`
	Connect *metav1.Duration `json:"connect,omitempty"`

	// list bounds one listing of all tools, all pages together. From 1s to 10m; absent means 60s.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^([0-9]{1,5}([.][0-9]{1,9})?(h|m|s)|[0-9]{1,8}([.][0-9]{1,9})?ms){1,4}$') && (duration(self) >= duration('1s') && duration(self) <= duration('10m'))`,message=`list must be a duration from 1s to 10m, such as 60s`
	List *metav1.Duration `json:"list,omitempty"`

	// call bounds how long a call may be silent; progress from the server starts it anew. From 1s to 1h; absent
	// means 60s, or callMax where that is less.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^([0-9]{1,5}([.][0-9]{1,9})?(h|m|s)|[0-9]{1,8}([.][0-9]{1,9})?ms){1,4}$') && (duration(self) >= duration('1s') && duration(self) <= duration('1h'))`,message=`call must be a duration from 1s to 1h, such as 60s`
	Call *metav1.Duration `json:"call,omitempty"`

	// callMax bounds a call in all, however much progress it reports. From 1s to 24h and not below call; absent
	// means 15m, or call where that is more.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^([0-9]{1,5}([.][0-9]{1,9})?(h|m|s)|[0-9]{1,8}([.][0-9]{1,9})?ms){1,4}$') && (duration(self) >= duration('1s') && duration(self) <= duration('24h'))`,message=`callMax must be a duration from 1s to 24h, such as 15m`
	CallMax *metav1.Duration `json:"callMax,omitempty"`
}

// Calls bounds and permits tool calls.
type Calls struct {
	// maxConcurrent is how many calls may be in flight per gateway replica, across sessions. Absent means 4.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1024
	MaxConcurrent int32 `json:"maxConcurrent,omitempty"`

	// replayTools are globs of raw tool names whose calls may be sent again when it is unknown whether they were
	// carried out. "*" means all. Absent means none.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	ReplayTools []string `json:"replayTools,omitempty"`
}

// Recovery says how often and how long a failing server is tried.
type Recovery struct {
	// attempts is how many tries in a row must fail before the server is quarantined. Absent means 3.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10
	Attempts int32 `json:"attempts,omitempty"`

	// cooldown is the length of the first quarantine; each next one is twice as long. From 1s to 1h; absent means
	// 30s.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^([0-9]{1,5}([.][0-9]{1,9})?(h|m|s)|[0-9]{1,8}([.][0-9]{1,9})?ms){1,4}$') && (duration(self) >= duration('1s') && duration(self) <= duration('1h'))`,message=`cooldown must be a duration from 1s to 1h, such as 30s`
	Cooldown *metav1.Duration `json:"cooldown,omitempty"`

	// strikes is how many quarantines without an answer between retire the server. Absent means 3.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10
	Strikes int32 `json:"strikes,omitempty"`

	// probeInterval is the time between two probes of a retired server. 0s means that it stays retired until
	// something changes; else from 10s to 24h. Absent means 5m.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^([0-9]{1,5}([.][0-9]{1,9})?(h|m|s)|[0-9]{1,8}([.][0-9]{1,9})?ms){1,4}$') && (duration(self) == duration('0s') || (duration(self) >= duration('10s') && duration(self) <= duration('24h')))`,message=`probeInterval must be 0s or a duration from 10s to 24h, such as 5m`
	ProbeInterval *metav1.Duration `json:"probeInterval,omitempty"`
}

// SessionSharing says who shares a session with a server.
// +kubebuilder:validation:Enum=PerCaller;Shared
type SessionSharing string

// The kinds of sharing.
const (
	// SharingPerCaller: each caller has a session of its own, as servers that keep state per session need.
	SharingPerCaller SessionSharing = "PerCaller"
	// SharingShared: all callers of a gateway replica share one session.
	SharingShared SessionSharing = "Shared"
)

// Sessions says who shares a session with the server, and for how long an unused one is kept.
type Sessions struct {
	// sharing is PerCaller or Shared. Absent means PerCaller.
	// +optional
	Sharing SessionSharing `json:"sharing,omitempty"`

	// idleTimeout is how long a session without calls is kept. From 1s to 24h; absent means 10m.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^([0-9]{1,5}([.][0-9]{1,9})?(h|m|s)|[0-9]{1,8}([.][0-9]{1,9})?ms){1,4}$') && (duration(self) >= duration('1s') && duration(self) <= duration('24h'))`,message=`idleTimeout must be a duration from 1s to 24h, such as 10m`
	IdleTimeout *metav1.Duration `json:"idleTimeout,omitempty"`
}

// Health says how often a silent server is probed.
type Health struct {
	// interval is the time between two probes, start to start, give or take a fifth. From 5s to 1h; absent means
	// 60s.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^([0-9]{1,5}([.][0-9]{1,9})?(h|m|s)|[0-9]{1,8}([.][0-9]{1,9})?ms){1,4}$') && (duration(self) >= duration('5s') && duration(self) <= duration('1h'))`,message=`interval must be a duration from 5s to 1h, such as 60s`
	Interval *metav1.Duration `json:"interval,omitempty"`
}

// PinPolicy says what happens when a server changes its tools.
// +kubebuilder:validation:Enum=None;TrustOnFirstUse;Strict
type PinPolicy string

// The pin policies.
const (
	// PinNone: changed tools are offered as they are.
	PinNone PinPolicy = "None"
	// PinTrustOnFirstUse: the first published list that has tools is approved, unless approvedDigest names another one;
	// changed tools are withheld until approved.
	PinTrustOnFirstUse PinPolicy = "TrustOnFirstUse"
	// PinStrict: nothing is offered before it was approved.
	PinStrict PinPolicy = "Strict"
)

// Tools says which of the server's tools are offered. Globs know * (any run of characters), ? (one character), [a-z]
// and [^a-z] (one of a class, or none of it), and \ (the next character as it is).
type Tools struct {
	// allow are globs of raw tool names that are offered. Absent means all.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	Allow []string `json:"allow,omitempty"`

	// deny are globs of raw tool names that are not offered, whatever allow says.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	Deny []string `json:"deny,omitempty"`

	// refreshInterval is the longest time between two listings, for servers that do not tell of changes. From 10s
	// to 24h; absent means 10m.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^([0-9]{1,5}([.][0-9]{1,9})?(h|m|s)|[0-9]{1,8}([.][0-9]{1,9})?ms){1,4}$') && (duration(self) >= duration('10s') && duration(self) <= duration('24h'))`,message=`refreshInterval must be a duration from 10s to 24h, such as 10m`
	RefreshInterval *metav1.Duration `json:"refreshInterval,omitempty"`

	// pin says what happens when the server changes its tools: None, TrustOnFirstUse or Strict. Absent means None.
	// +optional
	Pin PinPolicy `json:"pin,omitempty"`

	// approvedDigest is the status.catalog.digest of the tools that are approved. Where it is given before the first list,
	// no other list is trusted on first use.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^sha256:[0-9a-f]{64}$')`,message=`approvedDigest must be a digest as status.catalog.digest shows it: sha256: and 64 hexadecimal digits`
	ApprovedDigest string `json:"approvedDigest,omitempty"`
}

// NamespacesFrom says how namespaces are chosen.
// +kubebuilder:validation:Enum=Same;All;Selector
type NamespacesFrom string

// The ways to choose namespaces.
const (
	NamespacesSame     NamespacesFrom = "Same"
	NamespacesAll      NamespacesFrom = "All"
	NamespacesSelector NamespacesFrom = "Selector"
)

// AllowedNamespaces says whose AgentSessions may use a server.
//
// +kubebuilder:validation:XValidation:rule=`(self.from == 'Selector') == has(self.selector)`,message=`set selector exactly when from is Selector`
type AllowedNamespaces struct {
	// from is Same (the server's own namespace), All, or Selector.
	// +required
	From NamespacesFrom `json:"from,omitempty"`

	// selector chooses namespaces by their labels. It is set exactly when from is Selector.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
}
