package builder

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	mooringv1alpha1 "github.com/mooring-dev/mooring/api/v1alpha1"
)

// AgentSessionBuilder builds an AgentSession.
type AgentSessionBuilder struct {
	obj mooringv1alpha1.AgentSession
}

// AgentSession begins an AgentSession of this name, which is offered every server of its namespace.
func AgentSession(name string) *AgentSessionBuilder {
	b := &AgentSessionBuilder{}
	b.obj.Name = name
	return b
}

// Obj returns a copy of what was built so far.
func (b *AgentSessionBuilder) Obj() *mooringv1alpha1.AgentSession {
	return b.obj.DeepCopy()
}

// Mutate sets what has no method of its own.
func (b *AgentSessionBuilder) Mutate(f func(*mooringv1alpha1.AgentSession)) *AgentSessionBuilder {
	f(&b.obj)
	return b
}

// Namespace sets the namespace.
func (b *AgentSessionBuilder) Namespace(namespace string) *AgentSessionBuilder {
	b.obj.Namespace = namespace
	return b
}

// UID sets the UID, for tests without an API server.
func (b *AgentSessionBuilder) UID(uid types.UID) *AgentSessionBuilder {
	b.obj.UID = uid
	return b
}

// Generation sets metadata.generation, for tests without an API server.
func (b *AgentSessionBuilder) Generation(generation int64) *AgentSessionBuilder {
	b.obj.Generation = generation
	return b
}

// Created sets metadata.creationTimestamp, for tests without an API server.
func (b *AgentSessionBuilder) Created(at time.Time) *AgentSessionBuilder {
	b.obj.CreationTimestamp = metav1.NewTime(at)
	return b
}

// Label sets one label.
func (b *AgentSessionBuilder) Label(key, value string) *AgentSessionBuilder {
	metav1.SetMetaDataLabel(&b.obj.ObjectMeta, key, value)
	return b
}

// Annotation sets one annotation.
func (b *AgentSessionBuilder) Annotation(key, value string) *AgentSessionBuilder {
	metav1.SetMetaDataAnnotation(&b.obj.ObjectMeta, key, value)
	return b
}

// Reload sets the annotation that asks for a catalog put together anew.
func (b *AgentSessionBuilder) Reload(value string) *AgentSessionBuilder {
	return b.Annotation(mooringv1alpha1.AnnotationReload, value)
}

// MCPDisabled offers nothing.
func (b *AgentSessionBuilder) MCPDisabled() *AgentSessionBuilder {
	b.obj.Spec.MCP = mooringv1alpha1.ToggleDisabled
	return b
}

// Select chooses servers that have this label, besides what was chosen before. Labels add up: a server needs all.
func (b *AgentSessionBuilder) Select(key, value string) *AgentSessionBuilder {
	metav1.AddLabelToSelector(b.selector(), key, value)
	return b
}

// SelectAll chooses every server of the namespace, besides what was chosen before.
func (b *AgentSessionBuilder) SelectAll() *AgentSessionBuilder {
	b.selector()
	return b
}

// Ref chooses one server of the session's namespace.
func (b *AgentSessionBuilder) Ref(name string) *AgentSessionBuilder {
	return b.ref(mooringv1alpha1.ServerReference{Name: name})
}

// ForeignRef chooses one server of another namespace.
func (b *AgentSessionBuilder) ForeignRef(namespace, name string) *AgentSessionBuilder {
	return b.ref(mooringv1alpha1.ServerReference{Namespace: namespace, Name: name})
}

// RequiredRef chooses one server of the session's namespace without which the session is not ready.
func (b *AgentSessionBuilder) RequiredRef(name string) *AgentSessionBuilder {
	return b.ref(mooringv1alpha1.ServerReference{Name: name, Required: true})
}

// Exclude leaves out servers of the session's namespace.
func (b *AgentSessionBuilder) Exclude(names ...string) *AgentSessionBuilder {
	s := ensure(&b.obj.Spec.Servers)
	for _, name := range names {
		s.Exclude = append(s.Exclude, mooringv1alpha1.ServerExclusion{Name: name})
	}
	return b
}

// WithoutProjectConfig leaves out servers of level Project.
func (b *AgentSessionBuilder) WithoutProjectConfig() *AgentSessionBuilder {
	b.obj.Spec.ProjectConfig = mooringv1alpha1.ToggleDisabled
	return b
}

// Native adds services that the agent covers by itself.
func (b *AgentSessionBuilder) Native(services ...mooringv1alpha1.NativeIntegration) *AgentSessionBuilder {
	b.obj.Spec.NativeIntegrations = append(b.obj.Spec.NativeIntegrations, services...)
	return b
}

// StartupTimeout sets how long the first catalog waits for servers.
func (b *AgentSessionBuilder) StartupTimeout(d time.Duration) *AgentSessionBuilder {
	b.obj.Spec.StartupTimeout = duration(d)
	return b
}

// Dispatch shows the tools behind two.
func (b *AgentSessionBuilder) Dispatch() *AgentSessionBuilder {
	b.obj.Spec.Exposure = mooringv1alpha1.ExposureDispatch
	return b
}

// Allow adds globs to spec.tools.allow.
func (b *AgentSessionBuilder) Allow(globs ...string) *AgentSessionBuilder {
	t := ensure(&b.obj.Spec.Tools)
	t.Allow = append(t.Allow, globs...)
	return b
}

// Deny adds globs to spec.tools.deny.
func (b *AgentSessionBuilder) Deny(globs ...string) *AgentSessionBuilder {
	t := ensure(&b.obj.Spec.Tools)
	t.Deny = append(t.Deny, globs...)
	return b
}

// Parent makes it a subagent of the AgentSession of this name.
func (b *AgentSessionBuilder) Parent(name string) *AgentSessionBuilder {
	b.obj.Spec.ParentRef = &mooringv1alpha1.AgentSessionReference{Name: name}
	return b
}

// ServiceAccount lets a service account connect; an empty namespace is the session's own.
func (b *AgentSessionBuilder) ServiceAccount(namespace, name string) *AgentSessionBuilder {
	b.obj.Spec.AllowedServiceAccounts = append(b.obj.Spec.AllowedServiceAccounts,
		mooringv1alpha1.ServiceAccountReference{Namespace: namespace, Name: name})
	return b
}

func (b *AgentSessionBuilder) ref(r mooringv1alpha1.ServerReference) *AgentSessionBuilder {
	s := ensure(&b.obj.Spec.Servers)
	s.Refs = append(s.Refs, r)
	return b
}

func (b *AgentSessionBuilder) selector() *metav1.LabelSelector {
	return ensure(&ensure(&b.obj.Spec.Servers).Selector)
}
