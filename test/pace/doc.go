// Package pace says how long tests wait and how much they repeat. No test may depend on how fast the machine is: what
// must happen has Patience, and a deadline that is too short for a slow machine is tried again, longer (Within). What
// takes long on purpose is small in `make test` and whole in `make soak` (Pick, Seeds).
package pace
