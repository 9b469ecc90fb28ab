package builder

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	mooringv1alpha1 "github.com/mooring-dev/mooring/api/v1alpha1"
)

// ConnectTimeout sets spec.timeouts.connect.
func (b *MCPServerBuilder) ConnectTimeout(d time.Duration) *MCPServerBuilder {
	ensure(&b.obj.Spec.Timeouts).Connect = duration(d)
	return b
}

// ListTimeout sets spec.timeouts.list.
func (b *MCPServerBuilder) ListTimeout(d time.Duration) *MCPServerBuilder {
	ensure(&b.obj.Spec.Timeouts).List = duration(d)
	return b
}

// CallTimeout sets spec.timeouts.call.
func (b *MCPServerBuilder) CallTimeout(d time.Duration) *MCPServerBuilder {
	ensure(&b.obj.Spec.Timeouts).Call = duration(d)
	return b
}

// CallMax sets spec.timeouts.callMax.
func (b *MCPServerBuilder) CallMax(d time.Duration) *MCPServerBuilder {
	ensure(&b.obj.Spec.Timeouts).CallMax = duration(d)
	return b
}

// Attempts sets spec.recovery.attempts.
func (b *MCPServerBuilder) Attempts(n int32) *MCPServerBuilder {
	ensure(&b.obj.Spec.Recovery).Attempts = n
	return b
}

// Cooldown sets spec.recovery.cooldown.
func (b *MCPServerBuilder) Cooldown(d time.Duration) *MCPServerBuilder {
	ensure(&b.obj.Spec.Recovery).Cooldown = duration(d)
	return b
}

// Strikes sets spec.recovery.strikes.
func (b *MCPServerBuilder) Strikes(n int32) *MCPServerBuilder {
	ensure(&b.obj.Spec.Recovery).Strikes = n
	return b
}

// ProbeInterval sets spec.recovery.probeInterval.
func (b *MCPServerBuilder) ProbeInterval(d time.Duration) *MCPServerBuilder {
	ensure(&b.obj.Spec.Recovery).ProbeInterval = duration(d)
	return b
}

// HealthInterval sets spec.health.interval.
func (b *MCPServerBuilder) HealthInterval(d time.Duration) *MCPServerBuilder {
	ensure(&b.obj.Spec.Health).Interval = duration(d)
	return b
}

// RefreshInterval sets spec.tools.refreshInterval.
func (b *MCPServerBuilder) RefreshInterval(d time.Duration) *MCPServerBuilder {
	ensure(&b.obj.Spec.Tools).RefreshInterval = duration(d)
	return b
}

// Allow adds globs to spec.tools.allow.
func (b *MCPServerBuilder) Allow(globs ...string) *MCPServerBuilder {
	t := ensure(&b.obj.Spec.Tools)
	t.Allow = append(t.Allow, globs...)
	return b
}

// Deny adds globs to spec.tools.deny.
func (b *MCPServerBuilder) Deny(globs ...string) *MCPServerBuilder {
	t := ensure(&b.obj.Spec.Tools)
	t.Deny = append(t.Deny, globs...)
	return b
}

// Pin sets spec.tools.pin.
func (b *MCPServerBuilder) Pin(policy mooringv1alpha1.PinPolicy) *MCPServerBuilder {
	ensure(&b.obj.Spec.Tools).Pin = policy
	return b
}

func duration(d time.Duration) *metav1.Duration {
	return &metav1.Duration{Duration: d}
}
