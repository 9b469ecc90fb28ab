// Package manifest writes what was imported as manifests, for kubectl apply -f - and for people to read first.
//
// A key of a Secret that is to be filled in is absent: an annotation names it, and in YAML a comment shows where it
// goes. Only this package takes values of credentials in its hands, and only to write them where they belong.
package manifest
