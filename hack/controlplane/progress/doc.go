// Package progress shows a person how far something has come that takes longer than a second: on a terminal by one line
// that is written over each second, in a log by a line every 15 seconds. What is done is told in a line of its own.
package progress
