// Package reach tells people whether a cluster can be worked with, and what to do where it cannot: its API server does
// not answer, does not accept who asks, or does not know the kinds of Mooring.
//
// What a client library says of an API server that does not answer is about its own work, such as the groups that it
// wanted. Explain says it of the cluster that a person chose. It names addresses, which a kubeconfig holds in clear,
// and no credential. Errors about anything else pass as they are.
package reach
