package v1alpha1

// Annotations that people set on Mooring's objects.
const (
	// AnnotationReconnect on an MCPServer asks for its session to be dropped and connected anew whenever the value
	// changes, also when the server is quarantined or retired. Any text will do; the time is customary. It is
	// echoed in status.lastHandledReconnectAt once it was acted on.
	AnnotationReconnect = "mooring.dev/reconnect"

	// AnnotationProtocolEra on a server's catalog ConfigMap is the protocol era that the server told by a clear answer.
	// Mooring writes and reads it.
	AnnotationProtocolEra = "mooring.dev/protocol-era"

	// AnnotationReload on an AgentSession asks for its catalog to be put together anew whenever the value changes: its
	// call sessions are closed, each server is asked for a fresh list, and the wait for servers runs again. Any text
	// will do; the time is customary. It is echoed in status.lastHandledReloadAt once it was acted on.
	AnnotationReload = "mooring.dev/reload"
)

// Labels that Mooring sets on the objects it owns.
const (
	// LabelManagedBy and LabelManagedByValue mark every object that Mooring writes.
	LabelManagedBy      = "app.kubernetes.io/managed-by"
	LabelManagedByValue = "mooring"

	// LabelComponent says what an owned object is for; its values are the Component constants.
	LabelComponent = "app.kubernetes.io/component"

	// LabelServer holds the name of the MCPServer that an owned object belongs to.
	LabelServer = "mooring.dev/server"

	// LabelSession holds the name of the AgentSession that an owned object belongs to.
	LabelSession = "mooring.dev/session"
)

// The values of LabelComponent.
const (
	// ComponentServerCatalog: a ConfigMap that holds the catalog of one MCPServer.
	ComponentServerCatalog = "server-catalog"
	// ComponentSessionCatalog: a ConfigMap that holds what one AgentSession is offered.
	ComponentSessionCatalog = "session-catalog"
)
