package span

import (
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
)

// Text tells a duration as kubectl does, but for the second minute, which kubectl counts in seconds. A moment that has
// yet to come by this machine's clock is taken for now.
func Text(d time.Duration) string {
	switch d = max(0, d.Truncate(time.Second)); {
	case d == time.Minute:
		return "1m"
	case d > time.Minute && d < 2*time.Minute:
		return d.String()
	}
	return duration.HumanDuration(d)
}
