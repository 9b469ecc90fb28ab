// Package argocd tests the health check for Argo CD with the interpreter that Argo CD runs it by. It is part of the tool
// module so that Mooring itself depends on no Lua.
package argocd

import (
	"testing"

	lua "github.com/yuin/gopher-lua"
)

const script = "../../../config/argocd/health.lua"

// condition is the part of a condition that the script looks at.
type condition struct{ kind, status, reason, message string }

// health runs the script on an object of generation 2.
func health(t *testing.T, observed int, conditions ...condition) (status, message string) {
	t.Helper()
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	lua.OpenBase(state)

	list := state.NewTable()
	for _, c := range conditions {
		entry := state.NewTable()
		entry.RawSetString("type", lua.LString(c.kind))
		entry.RawSetString("status", lua.LString(c.status))
		entry.RawSetString("reason", lua.LString(c.reason))
		entry.RawSetString("message", lua.LString(c.message))
		list.Append(entry)
	}
	metadata, objectStatus, object := state.NewTable(), state.NewTable(), state.NewTable()
	metadata.RawSetString("generation", lua.LNumber(2))
	objectStatus.RawSetString("observedGeneration", lua.LNumber(observed))
	if len(conditions) > 0 {
		objectStatus.RawSetString("conditions", list)
	}
	object.RawSetString("metadata", metadata)
	object.RawSetString("status", objectStatus)
	state.SetGlobal("obj", object)
	if err := state.DoFile(script); err != nil {
		t.Fatal(err)
	}
	result, ok := state.Get(-1).(*lua.LTable)
	if !ok {
		t.Fatalf("the script returned %v", state.Get(-1))
	}
	return result.RawGetString("status").String(), result.RawGetString("message").String()
}

func TestHealth(t *testing.T) {
	ready := condition{"Ready", "True", "Ready", "connected"}
	notReady := condition{"Ready", "False", "ConnectFailed", "connection refused"}
	cases := map[string]struct {
		observed        int
		conditions      []condition
		status, message string
	}{
		"created":       {-1, nil, "Progressing", "waiting for Mooring"},
		"ready":         {2, []condition{ready}, "Healthy", "connected"},
		"spec is newer": {1, []condition{ready}, "Progressing", "waiting for Mooring"},
		"disabled":      {2, []condition{{"Ready", "True", "Disabled", "disabled"}}, "Suspended", "disabled"},
		"stalled": {2, []condition{notReady, {"Stalled", "True", "PermissionDenied", "refused with 403"}},
			"Degraded", "refused with 403"},
		"stalled as told of an older generation": {1, []condition{notReady, {"Stalled", "True", "PermissionDenied", "x"}},
			"Progressing", "waiting for Mooring"},
		"reconciling": {2, []condition{notReady, {"Reconciling", "True", "ProgressingWithRetry", "tried again"}},
			"Progressing", "tried again"},
		"not ready without more": {2, []condition{notReady}, "Progressing", "connection refused"},
		"message missing":        {2, []condition{{"Ready", "False", "Connecting", ""}}, "Progressing", "Connecting"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			status, message := health(t, c.observed, c.conditions...)
			if status != c.status || message != c.message {
				t.Errorf("%s (%s), want %s (%s)", status, message, c.status, c.message)
			}
		})
	}
}
