package secret_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/mooring-dev/mooring/internal/secret"
)

const canary = "canary-7f3a"

// holder is a value within other values, as logs and dumps meet it.
type holder struct {
	Name  string
	Value secret.Value
	More  map[string]secret.Value
	Ptr   *secret.Value
}

func held() holder {
	v := secret.New(canary)
	return holder{Name: "n", Value: v, More: map[string]secret.Value{"k": v}, Ptr: &v}
}

func TestValueNeverPrints(t *testing.T) {
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%T %v", "%20s", "%-5.2s", "%08.3f"} {
		t.Run(verb, func(t *testing.T) {
			g := NewWithT(t)
			for _, what := range []any{secret.New(canary), held(), []secret.Value{secret.New(canary)}} {
				text := fmt.Sprintf(verb, what)
				g.Expect(text).NotTo(ContainSubstring(canary))
				g.Expect(text).NotTo(ContainSubstring(fmt.Sprintf("%x", canary)))
				g.Expect(strings.ToLower(text)).NotTo(ContainSubstring(fmt.Sprintf("%X", canary)))
			}
		})
	}
	g := NewWithT(t)
	g.Expect(fmt.Sprint(secret.New(canary))).To(Equal("[secret]"))
	g.Expect(secret.New(canary).String()).To(Equal("[secret]"))
}

func TestValueNeverMarshals(t *testing.T) {
	g := NewWithT(t)
	document, err := json.Marshal(held())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(document)).To(Equal(
		`{"Name":"n","Value":"[secret]","More":{"k":"[secret]"},"Ptr":"[secret]"}`))
}

func TestValueNeverLogs(t *testing.T) {
	g := NewWithT(t)
	var out bytes.Buffer
	for _, handler := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
		slog.New(handler).Info("m", "value", secret.New(canary), "held", held())
	}
	g.Expect(out.String()).To(ContainSubstring("[secret]"))
	g.Expect(out.String()).NotTo(ContainSubstring(canary))
}

func TestRevealAndIsZero(t *testing.T) {
	g := NewWithT(t)
	g.Expect(secret.New(canary).Reveal()).To(Equal(canary))
	g.Expect(secret.New(canary).IsZero()).To(BeFalse())
	g.Expect(secret.Value{}.IsZero()).To(BeTrue())
	g.Expect(secret.New("")).To(Equal(secret.Value{}))
}

func TestFingerprintTellsPartsApart(t *testing.T) {
	g := NewWithT(t)
	g.Expect(secret.Fingerprint("a", "b")).To(Equal(secret.Fingerprint("a", "b")))
	g.Expect(secret.Fingerprint("a", "b")).To(MatchRegexp("^[0-9a-f]{16}$"))
	seen := map[string]string{}
	sets := [][]string{{}, {""}, {"", ""}, {"ab"}, {"a", "b"}, {"b", "a"}, {"a", "", "b"}, {"1:a"}, {"a1:b"}}
	for _, parts := range sets {
		id := secret.Fingerprint(parts...)
		g.Expect(seen).NotTo(HaveKey(id), fmt.Sprint(parts, " as ", seen[id]))
		seen[id] = fmt.Sprint(parts)
	}
	g.Expect(secret.Fingerprint(canary)).NotTo(ContainSubstring(canary))
}
