// Command npmfetch unpacks the npm packages that a package-lock.json pins, without npm: neither npm nor Node need be
// installed, and no package's install script ever runs.
//
// Every tarball is checked against the lock's sha512 before a byte of it is unpacked; a lock entry without one is
// refused. The registry is the one of npm_config_registry, else the public one. Optional packages named node-* hold
// Node itself: the one that fits this machine is fetched only where no Node of at least version 20 is on PATH. The
// folder then holds a link `node` to the Node that is to be used.
//
// A stamp in the folder makes a second run a matter of milliseconds. Peer dependencies, git and file dependencies are
// not supported: the lock has none.
package main
