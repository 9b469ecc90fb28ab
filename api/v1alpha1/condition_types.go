package v1alpha1

// Condition types. Once an object was acted on, Ready, Accepted, Connected and CatalogPublished are always there on an
// MCPServer, and Ready, ServersResolved and CatalogPublished on an AgentSession; the others are there only while they
// are True.
const (
	// ConditionReady is True when the object can be used as declared. A server: it is not Stalled and either disabled,
	// or accepted, connected, its catalog published and its calls not failing. An agent session: its catalog is
	// published, and at least one of its servers, every required one included, can be used; or there is none to use.
	//
	// On an MCPServer:
	//
	// True: ReasonReady, ReasonDisabled.
	// False or Unknown: the reason of the first condition that prevents it, in the order Accepted, Connected,
	// CatalogPublished; or ReasonCallsFailing.
	//
	// On an AgentSession:
	//
	// True: ReasonAllServersAvailable, ReasonPartiallyAvailable, ReasonNoServersSelected, ReasonDisabled.
	// False: ReasonAwaitingServers, ReasonNoServersAvailable, ReasonRequiredServerUnavailable, ReasonDiscoveryFailed
	// (ConditionServersResolved says why), ReasonNameConflict, ReasonPublishFailed.
	ConditionReady = "Ready"

	// ConditionAccepted is True when the declaration is complete and everything that it refers to was found.
	//
	// True: ReasonValid.
	// False: ReasonInvalidConfiguration, ReasonInvalidSecretValue, ReasonInvalidCABundle, ReasonAddressNotAllowed,
	// ReasonNotSupportedYet (these need a change of the object or what it refers to);
	// ReasonSecretNotFound, ReasonSecretKeyNotFound, ReasonConfigMapNotFound, ReasonSecretAccessDenied (these pass
	// when the missing thing appears).
	ConditionAccepted = "Accepted"

	// ConditionConnected is True while a session with the server is up.
	//
	// True: ReasonConnected.
	// Unknown: ReasonConnecting, ReasonDisabled.
	// False: ReasonAuthenticationFailed, ReasonTokenAcquisitionFailed, ReasonPermissionDenied, ReasonQuotaExceeded,
	// ReasonRateLimited, ReasonServerError, ReasonDNSError, ReasonConnectFailed, ReasonConnectionLost,
	// ReasonProcessExited, ReasonConnectTimeout, ReasonListToolsTimeout, ReasonCallTimeout, ReasonNotMCP,
	// ReasonEndpointNotFound, ReasonUnsupportedProtocolVersion, ReasonTLSVerificationFailed, ReasonRedirectRefused,
	// ReasonAddressNotAllowed, ReasonProtocolError, ReasonSessionFlapping, ReasonCatalogTooLarge,
	// ReasonUnknownFailure, ReasonWorkloadUnavailable.
	ConditionConnected = "Connected"

	// ConditionServersResolved is True when it is known which servers an agent session is offered, and each one that it
	// names exists and permits its use.
	//
	// True: ReasonResolved.
	// Unknown: ReasonDisabled.
	// False: ReasonDiscoveryFailed, ReasonParentNotFound (no server is known);
	// ReasonInvalidSelector, ReasonParentCycle (no server is known, and a declaration must change);
	// ReasonRefNotFound, ReasonRefNotPermitted (the other servers are offered).
	ConditionServersResolved = "ServersResolved"
	// ConditionCatalogPublished is True when the catalog is in its ConfigMap: that which the server listed under the
	// present configuration, or that which the agent session is offered. A failed refresh over a good catalog leaves it
	// as it is.
	//
	// On an MCPServer:
	//
	// True: ReasonPublished, ReasonNoTools.
	// Unknown: ReasonAwaitingConnection, ReasonDisabled.
	// False: ReasonListToolsFailed, ReasonListToolsTimeout, ReasonCatalogTooLarge, ReasonEmptyCatalog,
	// ReasonNameConflict, ReasonPublishFailed.
	//
	// On an AgentSession:
	//
	// True: ReasonPublished, ReasonNoTools.
	// Unknown: ReasonAwaitingServers.
	// False: ReasonDiscoveryFailed, ReasonCatalogTooLarge, ReasonNameConflict, ReasonPublishFailed.
	ConditionCatalogPublished = "CatalogPublished"

	// ConditionToolsDrifted is True while tools are withheld because they differ from what was approved.
	//
	// True: ReasonToolsChanged, ReasonAwaitingApproval, ReasonBaselineLost.
	ConditionToolsDrifted = "ToolsDrifted"

	// ConditionQuarantined is True while the server is left alone after repeated failures, until
	// status.session.quarantinedUntil.
	//
	// True: the failure's reason, one of those of ConditionConnected.
	ConditionQuarantined = "Quarantined"

	// ConditionRetired is True while the server is no longer tried, but for a slow probe.
	//
	// True: the failure's reason, one of those of ConditionConnected.
	ConditionRetired = "Retired"

	// ConditionReconciling is True while waiting may help (kstatus). Never together with ConditionStalled.
	//
	// True: ReasonProgressing, ReasonProgressingWithRetry.
	ConditionReconciling = "Reconciling"

	// ConditionStalled is True while waiting will not help: somebody must change something (kstatus). Never
	// together with ConditionReconciling.
	//
	// On an MCPServer:
	//
	// True: ReasonInvalidConfiguration, ReasonInvalidSecretValue, ReasonInvalidCABundle, ReasonAddressNotAllowed,
	// ReasonNotSupportedYet, ReasonNameConflict, ReasonCatalogTooLarge (without a last good catalog), and the
	// failure's reason of a server that is retired for good.
	//
	// On an AgentSession:
	//
	// True: ReasonInvalidSelector, ReasonParentCycle, ReasonNameConflict, ReasonCatalogTooLarge (without a last good
	// catalog).
	ConditionStalled = "Stalled"
)

// Reasons of ConditionReady.
const (
	// ReasonReady signals that the server can be used as declared.
	ReasonReady = "Ready"
	// ReasonCallsFailing signals that the session is up but the calls of every reporting gateway fail.
	ReasonCallsFailing = "CallsFailing"
	// ReasonDisabled signals that a server's spec.disabled is true, so that no session is held, or that an agent
	// session's spec.mcp is Disabled, so that nothing is offered. Also of ConditionConnected, ConditionServersResolved
	// and ConditionCatalogPublished.
	ReasonDisabled = "Disabled"
	// ReasonAllServersAvailable signals that every selected server can be used.
	ReasonAllServersAvailable = "AllServersAvailable"
	// ReasonPartiallyAvailable signals that some of the selected servers, but not all, can be used.
	ReasonPartiallyAvailable = "PartiallyAvailable"
	// ReasonNoServersSelected signals that the declaration selects no server, so that an empty catalog is published.
	ReasonNoServersSelected = "NoServersSelected"
	// ReasonAwaitingServers signals that the first catalog waits for servers whose first attempt has not ended. Also of
	// ConditionCatalogPublished.
	ReasonAwaitingServers = "AwaitingServers"
	// ReasonNoServersAvailable signals that none of the selected servers can be used.
	ReasonNoServersAvailable = "NoServersAvailable"
	// ReasonRequiredServerUnavailable signals that a server of spec.servers.refs that is required cannot be used.
	ReasonRequiredServerUnavailable = "RequiredServerUnavailable"
)

// Reasons of ConditionServersResolved.
const (
	// ReasonResolved signals that the servers are known, and that each one named exists and permits its use.
	ReasonResolved = "Resolved"
	// ReasonDiscoveryFailed signals that it could not be found out which servers are selected. Also of ConditionReady
	// and ConditionCatalogPublished.
	ReasonDiscoveryFailed = "DiscoveryFailed"
	// ReasonInvalidSelector signals that spec.servers.selector is not a valid label selector.
	ReasonInvalidSelector = "InvalidSelector"
	// ReasonParentNotFound signals that the AgentSession of spec.parentRef does not exist.
	ReasonParentNotFound = "ParentNotFound"
	// ReasonParentCycle signals that spec.parentRef leads, over other AgentSessions, back to itself.
	ReasonParentCycle = "ParentCycle"
	// ReasonRefNotFound signals that a server of spec.servers.refs does not exist.
	ReasonRefNotFound = "RefNotFound"
	// ReasonRefNotPermitted signals that a server of spec.servers.refs, in another namespace, does not permit its use
	// from here. It is the same whether or not the server exists.
	ReasonRefNotPermitted = "RefNotPermitted"
)

// Reasons of ConditionAccepted.
const (
	// ReasonValid signals that the declaration is complete and everything that it refers to was found.
	ReasonValid = "Valid"
	// ReasonInvalidConfiguration signals a mistake in the spec that only shows with all values at hand, such as a
	// $(NAME) that spec.variables does not define.
	ReasonInvalidConfiguration = "InvalidConfiguration"
	// ReasonInvalidSecretValue signals a value that cannot be sent, such as one with a control character.
	ReasonInvalidSecretValue = "InvalidSecretValue"
	// ReasonInvalidCABundle signals that the referenced CA bundle holds no usable PEM certificate.
	ReasonInvalidCABundle = "InvalidCABundle"
	// ReasonAddressNotAllowed signals that the address is one which the operator's administrator forbids. On
	// ConditionAccepted: it is literally in the URL; on ConditionConnected: the host name led to it.
	ReasonAddressNotAllowed = "AddressNotAllowed"
	// ReasonSecretNotFound signals that a referenced Secret does not exist.
	ReasonSecretNotFound = "SecretNotFound"
	// ReasonSecretKeyNotFound signals that a referenced Secret lacks the key.
	ReasonSecretKeyNotFound = "SecretKeyNotFound"
	// ReasonConfigMapNotFound signals that a referenced ConfigMap, or its key, does not exist.
	ReasonConfigMapNotFound = "ConfigMapNotFound"
	// ReasonSecretAccessDenied signals that the manager may not read Secrets (or ConfigMaps) of the namespace. The
	// message holds the command that grants it.
	ReasonSecretAccessDenied = "SecretAccessDenied"
	// ReasonNotSupportedYet signals that the declaration is valid, but this build cannot serve it.
	ReasonNotSupportedYet = "NotSupportedYet"
)

// Reasons of ConditionConnected, and so of ConditionQuarantined and ConditionRetired.
const (
	// ReasonConnected signals that the session is up.
	ReasonConnected = "Connected"
	// ReasonConnecting signals that the first attempt under this configuration has not ended.
	ReasonConnecting = "Connecting"
	// ReasonAuthenticationFailed signals that the server answered 401.
	ReasonAuthenticationFailed = "AuthenticationFailed"
	// ReasonTokenAcquisitionFailed signals that no OAuth token was to be had.
	ReasonTokenAcquisitionFailed = "TokenAcquisitionFailed"
	// ReasonPermissionDenied signals that the server answered 403.
	ReasonPermissionDenied = "PermissionDenied"
	// ReasonQuotaExceeded signals that a quota is used up or a bill is not paid: the server answered 402, or an error with
	// a code that says so.
	ReasonQuotaExceeded = "QuotaExceeded"

	// ReasonRateLimited signals that the server answered 429, or 503 with Retry-After.
	ReasonRateLimited = "RateLimited"
	// ReasonServerError signals another answer of 5xx.
	ReasonServerError = "ServerError"
	// ReasonDNSError signals that the host name could not be resolved.
	ReasonDNSError = "DNSError"
	// ReasonConnectFailed signals that no connection to the address could be made.
	ReasonConnectFailed = "ConnectFailed"
	// ReasonConnectionLost signals that the connection broke.
	ReasonConnectionLost = "ConnectionLost"
	// ReasonProcessExited signals that the process of a stdio server ended.
	ReasonProcessExited = "ProcessExited"
	// ReasonConnectTimeout signals that the handshake did not end within spec.timeouts.connect.
	ReasonConnectTimeout = "ConnectTimeout"
	// ReasonListToolsTimeout signals that listing did not end within spec.timeouts.list. Also of
	// ConditionCatalogPublished.
	ReasonListToolsTimeout = "ListToolsTimeout"
	// ReasonCallTimeout signals that calls did not end within their deadline.
	ReasonCallTimeout = "CallTimeout"
	// ReasonNotMCP signals that something else than an MCP server answered, such as a web page.
	ReasonNotMCP = "NotMCP"
	// ReasonEndpointNotFound signals that the server answered 404 or 410: the URL's path is most likely wrong.
	ReasonEndpointNotFound = "EndpointNotFound"
	// ReasonUnsupportedProtocolVersion signals that there is no protocol version that both sides speak.
	ReasonUnsupportedProtocolVersion = "UnsupportedProtocolVersion"
	// ReasonTLSVerificationFailed signals that the server's certificate is not trusted or not for this host.
	ReasonTLSVerificationFailed = "TLSVerificationFailed"
	// ReasonRedirectRefused signals that the server redirects to another origin, or with an unsafe status.
	ReasonRedirectRefused = "RedirectRefused"
	// ReasonProtocolError signals an answer that breaks HTTP, JSON-RPC or MCP.
	ReasonProtocolError = "ProtocolError"
	// ReasonSessionFlapping signals that the server forgot the session three times within a minute.
	ReasonSessionFlapping = "SessionFlapping"
	// ReasonUnknownFailure signals a failure that fits no other reason.
	ReasonUnknownFailure = "UnknownFailure"
	// ReasonWorkloadUnavailable signals that the pod of a stdio server does not run; the message holds why.
	ReasonWorkloadUnavailable = "WorkloadUnavailable"
)

// Reasons of ConditionCatalogPublished.
const (
	// ReasonPublished signals that the catalog is in its ConfigMap.
	ReasonPublished = "Published"
	// ReasonNoTools signals that there are no tools, and that this was published.
	ReasonNoTools = "NoTools"
	// ReasonAwaitingConnection signals that there is no session to list from.
	ReasonAwaitingConnection = "AwaitingConnection"
	// ReasonListToolsFailed signals that listing failed. A catalog that was published before stays.
	ReasonListToolsFailed = "ListToolsFailed"
	// ReasonCatalogTooLarge signals more than can be published: of a server more than 2,000 tools, 8 MiB of them, 16 MiB
	// in one answer, or 900 KiB compressed; of an agent session what does not fit into a ConfigMap even without tools.
	ReasonCatalogTooLarge = "CatalogTooLarge"
	// ReasonEmptyCatalog signals that the server lists no tools although it may have some; it is asked again.
	ReasonEmptyCatalog = "EmptyCatalog"
	// ReasonNameConflict signals that an object of the name we need exists and is not ours. It is left alone.
	ReasonNameConflict = "NameConflict"
	// ReasonPublishFailed signals that the API server refuses to store the catalog: a quota, an admission policy or the
	// manager's role forbids it. It is tried again every minute.
	ReasonPublishFailed = "PublishFailed"
)

// Reasons of ConditionToolsDrifted.
const (
	// ReasonToolsChanged signals that tools differ from the approved ones.
	ReasonToolsChanged = "ToolsChanged"
	// ReasonAwaitingApproval signals that pinning is Strict and nothing was approved yet, or that the first list is not
	// the one that spec.tools.approvedDigest names.
	ReasonAwaitingApproval = "AwaitingApproval"
	// ReasonBaselineLost signals that the record of what was approved is missing or was altered.
	ReasonBaselineLost = "BaselineLost"
)

// Reasons of ConditionReconciling.
const (
	// ReasonProgressing signals that work is under way and nothing has failed.
	ReasonProgressing = "Progressing"
	// ReasonProgressingWithRetry signals that something failed and will be tried again.
	ReasonProgressingWithRetry = "ProgressingWithRetry"
)
