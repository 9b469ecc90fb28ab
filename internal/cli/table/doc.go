// Package table prints aligned columns for people, and colours rows where they are read on a terminal.
//
// A row is coloured as a whole after it was laid out, so that escape sequences never move a column; without a terminal,
// or with NO_COLOR set (https://no-color.org), nothing but text is written.
package table
