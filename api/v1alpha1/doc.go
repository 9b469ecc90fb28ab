// Package v1alpha1 is the Kubernetes API of Mooring, group mooring.dev.
//
// An MCPServer declares one MCP server and how to reach it. Mooring keeps a supervised session to it, tells the
// truth about that session in status conditions and publishes the server's tools in a ConfigMap.
//
// An AgentSession declares which servers, and which of their tools, one agent is offered. Mooring publishes these
// tools in a ConfigMap for the agent's pod, says which of the servers can be used, and carries the agent's calls.
//
// # Invariants
//
//   - Everything that can be judged from the object alone is judged at apply, by the CRD: exactly one transport,
//     no credential in clear, sane durations. There are no webhooks.
//   - No field of a spec has a default in the CRD, so what is stored is what was sent and a diff stays empty.
//     Absent fields take the values of defaults.go, which the accessors there apply.
//   - A Secret or ConfigMap of another namespace cannot be expressed: references to them have no namespace. An
//     AgentSession may name an MCPServer of another namespace, which decides by its allowedNamespaces.
//   - No status field is required, and no status field has an enum: a newer manager may say more than an older
//     CRD knew.
//   - Within v1alpha1 only optional fields are added and rules are only loosened.
//
// # Trade-offs
//
// Durations are metav1.Duration, which people of Kubernetes read and write without thinking, bounded by CEL; the
// price is an exception from the API conventions' advice to use integers with a unit in their name.
//
// Lists of references whose namespace may be absent are atomic, and a rule keeps their entries distinct: a map key
// must be required or have a default.
//
// An empty list means what an absent one means, because a Go client cannot send the difference.
//
// Rules that judge a URL or a header are on the object around it and point at the field, because a rule on the
// field itself would repeat the refused value, and with it perhaps a password, in the error and the audit log.
//
// +kubebuilder:object:generate=true
// +kubebuilder:ac:generate=true
// +kubebuilder:ac:output:package="applyconfiguration"
// +groupName=mooring.dev
package v1alpha1
