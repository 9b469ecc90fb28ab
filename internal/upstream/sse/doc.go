// Package sse reads server-sent events as the HTML Living Standard (section 9.2, "Server-sent events") defines them,
// with a bound on the size of one event. It reads only when asked to, so an abandoned Reader costs nothing.
//
// Departures from browsers: an event without data is returned when it carries an id, because MCP's servers send such
// events so that a stream can be resumed; an event that the end of the stream cuts short is dropped, as in browsers; of
// one above the bound the beginning is returned with ErrTooLarge, and the stream goes on behind it.
package sse
