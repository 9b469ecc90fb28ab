// Package connect makes of an MCPServer, the objects that it refers to and the process's policy the configuration of a
// session to it. It is the one way from a declaration to a connection, for controllers and gateway alike.
//
// One walk over the spec (declare) says what it refers to and, given the values, fills in upstream.Config, which goes
// to the wire as it is: a field that the spec gets is added there and in the walk, and counts in the fingerprint of
// the connection unless its tag says otherwise. An authentication method is one case in auth.go.
//
// What a person must fix is a *NotAccepted, a value with the reason of the condition Accepted; any other error is the
// Kubernetes API's. Values of Secrets stay secret.Value until they are sent, and no message holds one: messages name
// the object and the key, or the field of the spec.
//
// A Connector holds what the servers of one process share: the egress policy, access tokens, and what is known of the
// protocol that each server speaks. Nothing here does I/O but the reading of references.
package connect
