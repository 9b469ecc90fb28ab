// Package sessiontest holds stand-ins for both sides of package session: Server is a scriptable server with its Dialer,
// for tests of whatever drives sessions; Sessions is a supervisor that does what the test says, for controllers.
//
// Nothing here reads a clock or starts a goroutine, so it behaves the same under testing/synctest and outside it.
package sessiontest
