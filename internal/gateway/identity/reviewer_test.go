package identity

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// api answers reviews as it is told to, and counts them.
type api struct {
	reviews, accesses atomic.Int64
	mu                sync.Mutex
	authenticated     bool
	allowed           bool
	audiences         []string
	err               error
}

func (a *api) set(change func(*api)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	change(a)
}

func (a *api) reviewer() *Reviewer {
	kube := fake.NewClientset()
	kube.PrependReactor("create", "tokenreviews", func(clienttesting.Action) (bool, runtime.Object, error) {
		a.reviews.Add(1)
		a.mu.Lock()
		defer a.mu.Unlock()
		return true, &authenticationv1.TokenReview{Status: authenticationv1.TokenReviewStatus{
			Authenticated: a.authenticated, Audiences: a.audiences,
			User: authenticationv1.UserInfo{Username: "system:serviceaccount:agents:coder",
				Extra: map[string]authenticationv1.ExtraValue{
					"authentication.kubernetes.io/pod-uid":  {"1-2-3"},
					"authentication.kubernetes.io/pod-name": {"coder-0"},
				}},
		}}, a.err
	})
	kube.PrependReactor("create", "subjectaccessreviews", func(clienttesting.Action) (bool, runtime.Object, error) {
		a.accesses.Add(1)
		a.mu.Lock()
		defer a.mu.Unlock()
		return true, &authorizationv1.SubjectAccessReview{
			Status: authorizationv1.SubjectAccessReviewStatus{Allowed: a.allowed},
		}, a.err
	})
	return New(kube)
}

// jwt is a token that says this of itself.
func jwt(claims string) string {
	return "e30." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".c2ln"
}

var errDown = &net.OpError{Op: "dial", Err: errors.New("connection refused")}

func expiring(in time.Duration) string {
	return jwt(fmt.Sprintf(`{"aud":["mooring"],"exp":%d}`, time.Now().Add(in).Unix()))
}

func run(t *testing.T, a *api, test func(o *WithT, r *Reviewer)) {
	synctest.Test(t, func(t *testing.T) { test(NewWithT(t), a.reviewer()) })
}

func TestAnswersAreAskedForAgain(t *testing.T) {
	a := &api{authenticated: true, audiences: []string{Audience}, allowed: true}
	run(t, a, func(o *WithT, r *Reviewer) {
		token, object := expiring(time.Hour), Object{"agentsessions", "agents", "coder"}
		ask := func() {
			caller, err := r.Authenticate(context.Background(), token)
			o.Expect(err).NotTo(HaveOccurred())
			o.Expect(r.MayUse(context.Background(), caller, object)).To(BeTrue())
		}
		var group sync.WaitGroup
		for range 20 {
			group.Go(ask)
		}
		group.Wait()
		o.Expect(a.reviews.Load()).To(BeEquivalentTo(1))
		o.Expect(a.accesses.Load()).To(BeEquivalentTo(1))
		time.Sleep(59 * time.Second)
		ask()
		o.Expect(a.reviews.Load()).To(BeEquivalentTo(1))
		time.Sleep(2 * time.Second)
		ask()
		o.Expect(a.reviews.Load()).To(BeEquivalentTo(2))
		caller, err := r.Authenticate(context.Background(), token)
		o.Expect(err).NotTo(HaveOccurred())
		a.set(func(a *api) { a.allowed = false })
		time.Sleep(61 * time.Second)
		o.Expect(r.MayUse(context.Background(), caller, object)).To(BeFalse())
		a.set(func(a *api) { a.allowed = true })
		time.Sleep(9 * time.Second)
		o.Expect(r.MayUse(context.Background(), caller, object)).To(BeFalse(), "a denial holds for 10 s")
		time.Sleep(2 * time.Second)
		o.Expect(r.MayUse(context.Background(), caller, object)).To(BeTrue())
		o.Expect(caller.Key()).To(Equal("pod/1-2-3"))
		o.Expect(caller.Pod()).To(Equal("coder-0"))
		o.Expect(caller.IsServiceAccount("agents", "coder")).To(BeTrue())
		o.Expect(caller.IsServiceAccount("agents", "other")).To(BeFalse())
	})
}

// While nobody can be asked, who is known goes on: until the token expires, for 10 minutes at most. A denial, and
// whoever is new, is not let in.
func TestKnownCallersGoOnInAnOutage(t *testing.T) {
	object := Object{"agentsessions", "agents", "coder"}
	outages := map[string]error{
		"not reached": errDown, "unwell": apierrors.NewInternalError(errors.New("etcd is down")),
		"overloaded": apierrors.NewTooManyRequests("later", 1),
	}
	for name, down := range outages {
		t.Run(name, func(t *testing.T) {
			a := &api{authenticated: true, audiences: []string{Audience}, allowed: true}
			run(t, a, func(o *WithT, r *Reviewer) {
				long, short := expiring(time.Hour), expiring(2*time.Minute)
				caller, err := r.Authenticate(context.Background(), long)
				o.Expect(err).NotTo(HaveOccurred())
				_, err = r.Authenticate(context.Background(), short)
				o.Expect(err).NotTo(HaveOccurred())
				o.Expect(r.MayUse(context.Background(), caller, object)).To(BeTrue())
				a.set(func(a *api) { a.err = down })
				for range 8 {
					time.Sleep(time.Minute)
					_, err = r.Authenticate(context.Background(), long)
					o.Expect(err).NotTo(HaveOccurred())
					o.Expect(r.MayUse(context.Background(), caller, object)).To(BeTrue())
				}
				_, err = r.Authenticate(context.Background(), short)
				o.Expect(err).To(MatchError(ErrUnreachable), "it has expired")
				_, err = r.Authenticate(context.Background(), expiring(59*time.Minute))
				o.Expect(err).To(MatchError(ErrUnreachable), "it is new")
				time.Sleep(3 * time.Minute)
				_, err = r.Authenticate(context.Background(), long)
				o.Expect(err).To(MatchError(ErrUnreachable), "10 minutes have passed")
				a.set(func(a *api) { a.err = nil })
				time.Sleep(6 * time.Second)
				_, err = r.Authenticate(context.Background(), long)
				o.Expect(err).NotTo(HaveOccurred())
			})
		})
	}
}

// That we may not ask is our own fault: nobody is let in on it.
func TestBeingForbiddenToAskIsNoOutage(t *testing.T) {
	a := &api{authenticated: true, audiences: []string{Audience}}
	run(t, a, func(o *WithT, r *Reviewer) {
		token := expiring(time.Hour)
		_, err := r.Authenticate(context.Background(), token)
		o.Expect(err).NotTo(HaveOccurred())
		a.set(func(a *api) {
			a.err = apierrors.NewForbidden(schema.GroupResource{Resource: "tokenreviews"}, "", errors.New("no"))
		})
		time.Sleep(2 * time.Minute)
		_, err = r.Authenticate(context.Background(), token)
		o.Expect(apierrors.IsForbidden(err)).To(BeTrue())
	})
}

// What is wrong with a token is told, and the token is not.
func TestRefusalsSayWhatIsWrong(t *testing.T) {
	for name, test := range map[string]struct {
		token, says string
		audiences   []string
		good        bool
	}{
		"expired":          {jwt(`{"aud":["mooring"],"exp":1}`), "has expired", nil, false},
		"another audience": {jwt(`{"aud":["https://kubernetes.default.svc"],"exp":1}`), "another audience", nil, false},
		"one audience":     {jwt(`{"aud":"other"}`), "another audience", nil, false},
		"forged":           {jwt(`{"aud":"mooring"}`), "is not accepted", nil, false},
		"no JWT":           {"opaque.but.not-json", "is not accepted", nil, false},
		"two parts":        {"a.b", "is not accepted", nil, false},
		// An authenticator without audiences takes tokens for anybody.
		"no audience comes back": {jwt(`{"aud":["mooring"]}`), "is not accepted", nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			a := &api{authenticated: test.good, audiences: test.audiences}
			run(t, a, func(o *WithT, r *Reviewer) {
				_, err := r.Authenticate(context.Background(), test.token)
				var refused *UnauthorizedError
				o.Expect(errors.As(err, &refused)).To(BeTrue(), "%v", err)
				o.Expect(refused.Message).To(ContainSubstring(test.says))
				o.Expect(refused.Message).To(ContainSubstring("audience mooring"))
				o.Expect(strings.Contains(refused.Message, test.token)).To(BeFalse())
			})
		})
	}
}

// However many tokens are tried, little is remembered.
func TestAnswersAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, known := NewWithT(t), answers[bool]{}
		ask := func(context.Context) (answer[bool], error) { return answer[bool]{}, nil }
		for i := range maxAnswers + 100 {
			_, err := known.get(context.Background(), fmt.Sprint(i), ask)
			o.Expect(err).NotTo(HaveOccurred())
		}
		o.Expect(len(known.guarded.byKey)).To(BeNumerically("<=", maxAnswers))
	})
}
