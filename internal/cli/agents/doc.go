// Package agents holds the commands about what agents are offered: tools shows a catalog, diff shows what of it is no
// longer as it was approved, reload asks for it anew.
//
// When no manager runs, they say so on standard error: what is published is then what was last known.
//
// They read what Mooring published, the ConfigMaps, prove its digests and judge them as the manager does: what they
// print is what agents get, and what they do not get is marked as such. Whether a list has expired, which new agent
// sessions alone feel, is for the command why to tell.
package agents
