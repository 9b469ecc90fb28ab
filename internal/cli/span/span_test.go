package span_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/mooring-dev/mooring/internal/cli/span"
)

func TestText(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-3 * time.Second:                       "0s",
		0:                                      "0s",
		1500 * time.Millisecond:                "1s",
		59 * time.Second:                       "59s",
		time.Minute:                            "1m",
		70 * time.Second:                       "1m10s",
		115 * time.Second:                      "1m55s",
		119*time.Second + 999*time.Millisecond: "1m59s",
		2 * time.Minute:                        "2m",
		141 * time.Second:                      "2m21s",
		20 * time.Minute:                       "20m",
		26 * time.Hour:                         "26h",
		72 * time.Hour:                         "3d",
	} {
		NewWithT(t).Expect(span.Text(d)).To(Equal(want))
	}
}
