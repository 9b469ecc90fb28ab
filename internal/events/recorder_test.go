package events_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/mooring-dev/mooring/internal/events"
	"github.com/mooring-dev/mooring/internal/secret"
)

// sink remembers what a broadcaster would send.
type sink struct {
	mu   sync.Mutex
	said []string
}

//nolint:revive // the signature is client-go's
func (s *sink) Eventf(regarding, related runtime.Object, kind, reason, action, note string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := regarding.(metav1.Object).GetName()
	if related != nil {
		name += " with another"
	}
	s.said = append(s.said, strings.Join([]string{name, kind, reason, action, fmt.Sprintf(note, args...)}, " "))
}

func (s *sink) expect(t *testing.T, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, s.said); diff != "" {
		t.Fatalf("events (-want +got):\n%s", diff)
	}
}

func object(name, uid string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "agents", Name: name, UID: types.UID(uid)}}
}

var (
	connected = events.Normal("Connected", "Connect", "connected")
	refused   = events.Warning("ConnectFailed", "Connect", "connection refused")
	published = events.Normal("Published", "Publish", "13 tools")
)

func TestWhatIsEmittedIsToldInOrder(t *testing.T) {
	s := &sink{}
	r := events.New(s)
	github, exa := object("github", "1"), object("exa", "2")
	for _, event := range []events.Event{connected, refused, connected, refused, published} {
		r.Emit(github, event)
	}
	r.Emit(exa, connected)
	s.expect(t,
		"github Normal Connected Connect connected",
		"github Warning ConnectFailed Connect connection refused",
		"github Normal Connected Connect connected",
		"github Warning ConnectFailed Connect connection refused",
		"github Normal Published Publish 13 tools",
		"exa Normal Connected Connect connected")
}

func TestMessageIsNeverAFormat(t *testing.T) {
	s := &sink{}
	events.New(s).Emit(object("github", "1"), events.Normal("Published", "Publish", "100%d of %s"))
	s.expect(t, "github Normal Published Publish 100%d of %s")
}

func TestMessageFitsTheAPI(t *testing.T) {
	for name, text := range map[string]string{
		"one byte each":   strings.Repeat("a", 3000),
		"four bytes each": strings.Repeat("🛟", 1000),
		"invalid":         "bad \xff byte" + strings.Repeat("a", 3000),
		"just as allowed": strings.Repeat("a", 1024),
	} {
		t.Run(name, func(t *testing.T) {
			s := &sink{}
			events.New(s).Emit(object("github", "1"), events.Normal("R", "A", text))
			message := strings.TrimPrefix(s.said[0], "github Normal R A ")
			if len(message) > 1024 || len(message) < 1021 || !utf8.ValidString(message) {
				t.Fatalf("message of %d bytes: %q", len(message), message)
			}
			if cut := strings.HasSuffix(message, "…"); cut != (len(text) > 1024) {
				t.Fatalf("cut = %v for %d bytes", cut, len(text))
			}
		})
	}
}

func TestSecretInAMessageIsAMark(t *testing.T) {
	s := &sink{}
	events.New(s).Emit(object("github", "1"), events.Warning("R", "A", fmt.Sprintf("token %v", secret.New("canary"))))
	s.expect(t, "github Warning R A token [secret]")
}
