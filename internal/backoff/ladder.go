package backoff

import "time"

const firstRung = 5 * time.Second

// emptyRungs is how often an empty list is asked for again before it is believed: after 5, 10, 20 and 40 s.
const emptyRungs = 4

// Refresh is the wait after the n-th refresh in a row that failed, n from 1: 5, 10, 20 … s, at most limit.
func Refresh(n int, limit time.Duration) time.Duration {
	return doubled(firstRung, n, limit)
}

// Empty is the wait before an empty list is asked for the n-th time again, n from 1: 5, 10, 20, 40 s. It reports
// false when it was asked often enough and is to be believed.
func Empty(n int) (time.Duration, bool) {
	if n > emptyRungs {
		return 0, false
	}
	return doubled(firstRung, n, day), true
}

// Growing is the wait after the n-th time in a row that something was put off without blame, n from 1:
// base·2^(n−1), at most limit but never less than base.
func Growing(base time.Duration, n int, limit time.Duration) time.Duration {
	return doubled(base, n, max(base, limit))
}
