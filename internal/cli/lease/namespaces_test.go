package lease

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestNamespaces(t *testing.T) {
	for name, test := range map[string]struct {
		told, own string
		want      []string
	}{
		"nothing told, in no pod":  {"", "", []string{"mooring-system", "default"}},
		"told":                     {"told", "", []string{"told", "mooring-system", "default"}},
		"told what comes last":     {"default", "", []string{"default", "mooring-system"}},
		"in a pod":                 {"", "own", []string{"own", "mooring-system", "default"}},
		"told in a pod":            {"told", "own", []string{"told", "own", "mooring-system", "default"}},
		"in the default namespace": {"", "mooring-system", []string{"mooring-system", "default"}},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(namespaces(test.told, test.own)).To(Equal(test.want))
		})
	}
}
