package refs

import (
	"context"
	"fmt"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// askTimeout bounds one question, so that a hung API server does not hold a watch up for good.
const askTimeout = 10 * time.Second

// needed are the verbs without which references of a scope cannot be served, the likeliest to be refused first.
var needed = []string{"list", "watch", "get"}

// ask reports whether this process has every needed verb on the scope.
func (w *watch) ask(ctx context.Context) (granted bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	for _, verb := range needed {
		review, err := w.tracker.kube.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx,
			&authorizationv1.SelfSubjectAccessReview{
				Spec: authorizationv1.SelfSubjectAccessReviewSpec{
					ResourceAttributes: &authorizationv1.ResourceAttributes{
						Namespace: w.scope.namespace,
						Verb:      verb,
						Version:   "v1",
						Resource:  w.scope.kind.resource(),
					},
				},
			}, metav1.CreateOptions{})
		if err != nil {
			w.tracker.log.V(1).Info("access review without an answer", "namespace", w.scope.namespace,
				"kind", w.scope.kind, "verb", verb, "error", err.Error())
			return false, fmt.Errorf("self subject access review: %w", err)
		}
		if !review.Status.Allowed {
			return false, nil
		}
	}
	return true, nil
}
