// Package template reads the texts of clients' files, in which references stand for values that the file does not hold:
// ${VAR}, ${VAR:-default}, ${env:VAR}, ${input:id}, and the places that editors know, such as ${workspaceFolder}.
//
// A Text is taken apart without knowing what its references stand for. What only looks like a reference stays text.
package template
