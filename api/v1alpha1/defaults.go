package v1alpha1

import (
	"cmp"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What absent fields mean. They are applied here and not by the CRD, so that what is stored is what
// was sent.
const (
	DefaultConnectTimeout  = 30 * time.Second
	DefaultListTimeout     = 60 * time.Second
	DefaultCallTimeout     = 60 * time.Second
	DefaultCallMax         = 15 * time.Minute
	DefaultMaxConcurrent   = 4
	DefaultAttempts        = 3
	DefaultCooldown        = 30 * time.Second
	DefaultStrikes         = 3
	DefaultProbeInterval   = 5 * time.Minute
	DefaultIdleTimeout     = 10 * time.Minute
	DefaultHealthInterval  = 60 * time.Second
	DefaultRefreshInterval = 10 * time.Minute
	DefaultStartupTimeout  = 250 * time.Millisecond
)

// ConnectTimeout bounds one handshake.
func (s *MCPServerSpec) ConnectTimeout() time.Duration {
	if s.Timeouts == nil {
		return DefaultConnectTimeout
	}
	return durationOr(s.Timeouts.Connect, DefaultConnectTimeout)
}

// ListTimeout bounds one listing of all pages.
func (s *MCPServerSpec) ListTimeout() time.Duration {
	if s.Timeouts == nil {
		return DefaultListTimeout
	}
	return durationOr(s.Timeouts.List, DefaultListTimeout)
}

// CallTimeout bounds how long a call may be silent. Where only callMax is set and below the default, it is callMax.
func (s *MCPServerSpec) CallTimeout() time.Duration {
	if s.Timeouts == nil {
		return DefaultCallTimeout
	}
	absent := min(DefaultCallTimeout, durationOr(s.Timeouts.CallMax, DefaultCallMax))
	return durationOr(s.Timeouts.Call, absent)
}

// CallMax bounds a call in all. Where only call is set and above the default, it is call.
func (s *MCPServerSpec) CallMax() time.Duration {
	if s.Timeouts == nil {
		return DefaultCallMax
	}
	return max(durationOr(s.Timeouts.CallMax, DefaultCallMax), s.CallTimeout())
}

// MaxConcurrent is how many calls may be in flight per gateway replica.
func (s *MCPServerSpec) MaxConcurrent() int {
	if s.Calls == nil {
		return DefaultMaxConcurrent
	}
	return countOr(s.Calls.MaxConcurrent, DefaultMaxConcurrent)
}

// Attempts is how many tries in a row must fail before a quarantine.
func (s *MCPServerSpec) Attempts() int {
	if s.Recovery == nil {
		return DefaultAttempts
	}
	return countOr(s.Recovery.Attempts, DefaultAttempts)
}

// Strikes is how many quarantines without an answer between retire the server.
func (s *MCPServerSpec) Strikes() int {
	if s.Recovery == nil {
		return DefaultStrikes
	}
	return countOr(s.Recovery.Strikes, DefaultStrikes)
}

// Cooldown is the length of the first quarantine.
func (s *MCPServerSpec) Cooldown() time.Duration {
	if s.Recovery == nil {
		return DefaultCooldown
	}
	return durationOr(s.Recovery.Cooldown, DefaultCooldown)
}

// ProbeInterval is the time between two probes of a retired server; 0 means that there are none.
func (s *MCPServerSpec) ProbeInterval() time.Duration {
	if s.Recovery == nil {
		return DefaultProbeInterval
	}
	return durationOr(s.Recovery.ProbeInterval, DefaultProbeInterval)
}

// IdleTimeout is how long a call session without calls is kept.
func (s *MCPServerSpec) IdleTimeout() time.Duration {
	if s.Sessions == nil {
		return DefaultIdleTimeout
	}
	return durationOr(s.Sessions.IdleTimeout, DefaultIdleTimeout)
}

// Sharing says who shares a call session.
func (s *MCPServerSpec) Sharing() SessionSharing {
	if s.Sessions == nil || s.Sessions.Sharing == "" {
		return SharingPerCaller
	}
	return s.Sessions.Sharing
}

// HealthInterval is the time between two probes of a silent server.
func (s *MCPServerSpec) HealthInterval() time.Duration {
	if s.Health == nil {
		return DefaultHealthInterval
	}
	return durationOr(s.Health.Interval, DefaultHealthInterval)
}

// RefreshInterval is the longest time between two listings.
func (s *MCPServerSpec) RefreshInterval() time.Duration {
	if s.Tools == nil {
		return DefaultRefreshInterval
	}
	return durationOr(s.Tools.RefreshInterval, DefaultRefreshInterval)
}

// PinPolicy says what happens when the server changes its tools.
func (s *MCPServerSpec) PinPolicy() PinPolicy {
	if s.Tools == nil || s.Tools.Pin == "" {
		return PinNone
	}
	return s.Tools.Pin
}

// ConfigLevel says whose configuration the server is.
func (s *MCPServerSpec) ConfigLevel() Level {
	if s.Level == "" {
		return LevelProject
	}
	return s.Level
}

// NamespacesFrom says how the namespaces are chosen whose AgentSessions may use the server.
func (s *MCPServerSpec) NamespacesFrom() NamespacesFrom {
	if s.AllowedNamespaces == nil {
		return NamespacesSame
	}
	return s.AllowedNamespaces.From
}

// TransportProtocol is the MCP transport to use.
func (h *HTTPTransport) TransportProtocol() HTTPProtocol {
	if h.Protocol == "" {
		return ProtocolAuto
	}
	return h.Protocol
}

// Enabled says whether the agent is offered any server.
func (s *AgentSessionSpec) Enabled() bool {
	return s.MCP != ToggleDisabled
}

// WithProjectConfig says whether servers of level Project are offered.
func (s *AgentSessionSpec) WithProjectConfig() bool {
	return s.ProjectConfig != ToggleDisabled
}

// Gate is how long the first catalog waits for servers; 0 means not at all.
func (s *AgentSessionSpec) Gate() time.Duration {
	return durationOr(s.StartupTimeout, DefaultStartupTimeout)
}

// ExposureMode says how tools are shown.
func (s *AgentSessionSpec) ExposureMode() Exposure {
	if s.Exposure == "" {
		return ExposureTools
	}
	return s.Exposure
}

// NamespaceIn is the server's namespace, seen from an AgentSession in the given one.
func (r ServerReference) NamespaceIn(session string) string {
	return cmp.Or(r.Namespace, session)
}

// NamespaceIn is the service account's namespace, seen from an AgentSession in the given one.
func (r ServiceAccountReference) NamespaceIn(session string) string {
	return cmp.Or(r.Namespace, session)
}

func durationOr(d *metav1.Duration, absent time.Duration) time.Duration {
	if d == nil {
		return absent
	}
	return d.Duration
}

func countOr(n int32, absent int) int {
	if n == 0 {
		return absent
	}
	return int(n)
}
