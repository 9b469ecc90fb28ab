package refs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"github.com/mooring-dev/mooring/internal/secret"
)

const canary = "canary-6f1c"

// failOnce makes the first request fail for a reason that is nobody's fault.
func (w *world) failOnce() clienttesting.ReactionFunc {
	var once sync.Once
	return func(clienttesting.Action) (failed bool, _ runtime.Object, err error) {
		once.Do(func() { failed, err = true, apierrors.NewInternalError(context.DeadlineExceeded) })
		return failed, nil, err
	}
}

func filled(w *world) {
	w.fill(
		&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: "agents", Name: "gh"},
			Data:       map[string][]byte{"token": []byte(canary), "user": []byte("jane"), "empty": nil},
		},
		&corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: "agents", Name: "ca"},
			Data:       map[string]string{"ca.crt": "pem"},
			BinaryData: map[string][]byte{"ca.der": {0xff, 0x00}},
		},
	)
}

func TestReadReturnsTheLiveValueOfEitherKind(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		filled(w)
		for ref, want := range map[Ref]string{
			{Secret, "agents", "gh", "token"}:     canary,
			{Secret, "agents", "gh", "empty"}:     "",
			{ConfigMap, "agents", "ca", "ca.crt"}: "pem",
			{ConfigMap, "agents", "ca", "ca.der"}: "\xff\x00",
		} {
			value, _, err := w.tracker.Read(t.Context(), ref)
			if err != nil || value.Reveal() != want {
				t.Fatalf("read %v = %q, %v, want %q", ref, value.Reveal(), err, want)
			}
			if shown := fmt.Sprintf("%v %+v %#v %s", value, value, value, value); strings.Contains(shown, canary) {
				t.Fatalf("value of %v shows itself: %s", ref, shown)
			}
		}
	})
}

func TestReadKeysTakesAllFromOneVersion(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		filled(w)
		w.kube.ClearActions()
		values, _, err := w.tracker.ReadKeys(t.Context(), Ref{Kind: Secret, Namespace: "agents", Name: "gh"}, "user", "token")
		if err != nil || len(values) != 2 || values[0].Reveal() != "jane" || values[1].Reveal() != canary {
			t.Fatalf("read keys = %d values, %v", len(values), err)
		}
		if n := len(w.kube.Actions()); n != 1 {
			t.Fatalf("%d requests, want 1", n)
		}
	})
}

func TestReadSaysWhatIsMissing(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		filled(w)
		for name, test := range map[string]struct {
			ref  Ref
			want error
			text string
		}{
			"secret": {
				Ref{Secret, "agents", "nope", "token"}, NotFoundError{Secret, "agents", "nope"},
				`Secret "nope" not found in namespace "agents"`,
			},
			"config map": {
				Ref{ConfigMap, "agents", "nope", "ca.crt"}, NotFoundError{ConfigMap, "agents", "nope"},
				`ConfigMap "nope" not found in namespace "agents"`,
			},
			"key": {
				Ref{Secret, "agents", "gh", "nope"}, KeyNotFoundError{Secret, "agents", "gh", "nope"},
				`Secret "gh" in namespace "agents" has no key "nope"`,
			},
		} {
			_, _, err := w.tracker.Read(t.Context(), test.ref)
			if !errors.Is(err, test.want) || err.Error() != test.text {
				t.Fatalf("%s: error = %v, want %v", name, err, test.want)
			}
		}
	})
}

func TestReadPassesOtherErrorsOn(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		filled(w)
		w.kube.PrependReactor("get", "secrets", w.failOnce())
		_, _, err := w.tracker.Read(t.Context(), secretRef("agents", "gh"))
		if !apierrors.IsInternalError(err) || !strings.HasPrefix(err.Error(), `get Secret "gh" in namespace "agents": `) {
			t.Fatalf("error = %v", err)
		}
	})
}

func TestRefusedReadOfWhatNobodyTracksIsOnlyAnError(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.refuse("get secrets agents")
		_, _, err := w.tracker.Read(t.Context(), secretRef("agents", "gh"))
		if denied, ok := errors.AsType[AccessDeniedError](err); !ok || denied.Namespace != "agents" || denied.Kind != Secret {
			t.Fatalf("error = %v, want access denied", err)
		}
		if w.tracker.denied("agents", Secret) {
			t.Fatal("a state without a watch that could end it")
		}
	})
}

func TestIdentityIsWhatTheServerKnowsUsBy(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.kube.PrependReactor("create", "selfsubjectreviews",
			func(clienttesting.Action) (bool, runtime.Object, error) {
				return true, &authenticationv1.SelfSubjectReview{Status: authenticationv1.SelfSubjectReviewStatus{
					UserInfo: authenticationv1.UserInfo{Username: identity}}}, nil
			})
		if got, err := Identity(t.Context(), w.kube); err != nil || got != identity {
			t.Fatalf("identity = %q, %v, want %q", got, err, identity)
		}
		w.kube.PrependReactor("create", "selfsubjectreviews", w.failOnce())
		if _, err := Identity(t.Context(), w.kube); !apierrors.IsInternalError(err) {
			t.Fatalf("error = %v, want the server's", err)
		}
	})
}

// The version tells one object, and one write to it, from another.
func TestReadTellsTheVersion(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.fill(&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: "agents", Name: "gh", UID: "uid", ResourceVersion: "7"},
			Data:       map[string][]byte{"token": []byte(canary)},
		})
		_, version, err := w.tracker.Read(t.Context(), Ref{Secret, "agents", "gh", "token"})
		if err != nil || version != "uid/7" {
			t.Fatalf("version = %q, %v", version, err)
		}
	})
}

// Read is ReadKeys of the reference's own key.
func (t *Tracker) Read(ctx context.Context, ref Ref) (value secret.Value, version string, err error) {
	values, version, err := t.ReadKeys(ctx, ref, ref.Key)
	if err != nil {
		return secret.Value{}, "", err
	}
	return values[0], version, nil
}
