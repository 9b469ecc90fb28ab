// Package histories chooses which random histories a property test lives through, so that one that went wrong can be
// lived through again.
package histories
