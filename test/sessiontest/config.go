package sessiontest

import (
	"cmp"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/session"
)

// Config is a configuration of which everything that is zero is as a declaration has it that says nothing of it.
func Config(c session.Config) session.Config {
	spec := &v1alpha1.MCPServerSpec{}
	c.Timeouts = Timeouts(c.Timeouts)
	c.Recovery.Attempts = cmp.Or(c.Recovery.Attempts, spec.Attempts())
	c.Recovery.Cooldown = cmp.Or(c.Recovery.Cooldown, spec.Cooldown())
	c.Recovery.Strikes = cmp.Or(c.Recovery.Strikes, spec.Strikes())
	c.Recovery.ProbeInterval = cmp.Or(c.Recovery.ProbeInterval, spec.ProbeInterval())
	c.Calls.MaxConcurrent = cmp.Or(c.Calls.MaxConcurrent, spec.MaxConcurrent())
	c.Calls.IdleTimeout = cmp.Or(c.Calls.IdleTimeout, spec.IdleTimeout())
	c.HealthInterval = cmp.Or(c.HealthInterval, spec.HealthInterval())
	c.RefreshInterval = cmp.Or(c.RefreshInterval, spec.RefreshInterval())
	return c
}

// Timeouts are those of Config.
func Timeouts(t session.Timeouts) session.Timeouts {
	spec := &v1alpha1.MCPServerSpec{}
	t.Connect = cmp.Or(t.Connect, spec.ConnectTimeout())
	t.List = cmp.Or(t.List, spec.ListTimeout())
	t.Call = cmp.Or(t.Call, spec.CallTimeout())
	t.CallMax = cmp.Or(t.CallMax, spec.CallMax())
	return t
}
