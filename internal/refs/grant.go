package refs

import (
	"context"
	"fmt"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/mooring-dev/mooring/internal/text"
)

// readerRole is the shipped ClusterRole, and the name of the RoleBinding that grants it.
const readerRole = "mooring-secret-reader"

// serviceAccountPrefix begins the user names of service accounts; "<namespace>:<name>" follows, which is also how
// kubectl wants them.
const serviceAccountPrefix = "system:serviceaccount:"

// GrantCommand returns the kubectl command that lets identity, a user name as the API server knows it, read Secrets and
// ConfigMaps of the namespace: the role holds both. It can be pasted into a shell whatever the user is called.
func GrantCommand(identity, namespace string) string {
	subject := "--user=" + text.ShellWord(identity)
	if account, ok := strings.CutPrefix(identity, serviceAccountPrefix); ok {
		subject = "--serviceaccount=" + account
	}
	return fmt.Sprintf("kubectl create rolebinding %s --clusterrole=%s %s -n %s",
		readerRole, readerRole, subject, namespace)
}

// Identity asks the API server under which user name it knows the client.
func Identity(ctx context.Context, kube kubernetes.Interface) (string, error) {
	review, err := kube.AuthenticationV1().SelfSubjectReviews().Create(ctx,
		&authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("self subject review: %w", err)
	}
	return review.Status.UserInfo.Username, nil
}
