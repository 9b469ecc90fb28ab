// Command bench measures what the gateway costs: calls made directly, through the gateway, through Go's
// httputil.ReverseProxy, which does nothing but copy, and through a proxy that is an SDK's client behind its server.
// All of it runs on this machine, each in a process of its own, interleaved in one run, in both eras of the protocol
// and with few and many sessions. What counts are the ratios between the rows of one run.
//
// The gateway runs on an embedded control plane with authentication, authorisation, metrics and access log on. The
// program starts everything and ends it; it is its own upstream server and its own proxies (flag -role).
package main
