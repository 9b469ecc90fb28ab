// Package jsonc reads JSON as editors write it: with a byte order mark, with // and /* */ comments, and with a comma
// after the last member. It keeps the order of members, so that what is made of a file follows the file.
//
// Errors say the line and the column, and never quote the text: it may hold credentials.
package jsonc
