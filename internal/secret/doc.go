// Package secret holds values that must never be shown. A Value prints, logs and marshals as a fixed mark whatever
// verb or encoder is used; only Reveal gives the bytes away, so every use of a credential can be found by that word.
package secret
