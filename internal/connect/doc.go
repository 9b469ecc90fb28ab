// Package connect resolves an MCPServer's declaration into what a dialer needs: the expanded URL, headers, credentials
// and TLS material.
//
// What a person must mend comes back as a Refusal, a value with the reason of the condition Accepted; any other error
// is the Kubernetes API's. Values of Secrets stay secret.Value until they are dialled, and no message has one: messages
// name the object and the key, or the field of the spec.
package connect
