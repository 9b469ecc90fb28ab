// Package span tells people how long something takes or has taken: "42s", "1m55s", "4h", always in the largest units
// that there are.
package span
