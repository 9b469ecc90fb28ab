// Package egress decides where Mooring may connect to on behalf of what users declare.
//
// Charter: Mooring runs with a position in the network that the authors of its objects may not have. A Policy says
// which addresses a connection may go to, and it says so at the moment of the dial and about the address that is
// dialled, so that neither DNS rebinding nor a redirect gets around it.
//
// Rules, in order; the first that matches decides:
//  1. Never, whatever else is configured: unspecified, multicast and link-local addresses, the metadata services of
//     clouds, the API server's endpoints. IPv4 addresses embedded in IPv6 (mapped, IPv4-compatible, NAT64, 6to4)
//     are judged as well as what embeds them, here and by the rules below.
//  2. Loopback, unless AllowLoopback.
//  3. Names of other namespaces' Services, unless AllowCrossNamespaceServices. Names that the resolver's search path
//     could complete to such a name are dialled as absolute names; names of one label are refused, as they would
//     mean a Service of Mooring's own namespace.
//  4. Deny: host suffixes and CIDRs.
//  5. Allow, when it has entries: what matches none of them is refused.
//
// A Route is the way to one server: through the proxy that its declaration or the environment names, or directly, under
// the Policy. It is the one place where servers and token endpoints get their transport and their trust.
//
// Trade-offs: behind a proxy only the name or literal of the target can be judged, as the proxy resolves it. A Service
// of another namespace that is reached by its address is not recognised: a NetworkPolicy or Deny helps there.
package egress
