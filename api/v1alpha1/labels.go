package v1alpha1

// Annotations that people set on Mooring's objects.
const (
	// AnnotationReconnect on an MCPServer asks for its session to be dropped and connected anew whenever the value
	// changes, also when the server is quarantined or retired. Any text will do; the time is customary. It is
	// echoed in status.lastHandledReconnectAt once it was acted on.
	AnnotationReconnect = "mooring.dev/reconnect"
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
)

// ComponentServerCatalog is the LabelComponent of a ConfigMap that holds the catalog of one MCPServer.
const ComponentServerCatalog = "server-catalog"
