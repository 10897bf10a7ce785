package pleach

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// A client as in a Pod: CA and token are files, the token is replaced while the client runs, and the
// service account has the rights of its Role only.
func TestTokenFiles(t *testing.T) {
	config := start(t)
	admin := kubernetes.NewForConfigOrDie(config)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	accounts := admin.CoreV1().ServiceAccounts("default")
	if _, err := accounts.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "robot"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	role := &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: "robot"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "list", "create"}}},
	}
	if _, err := admin.RbacV1().Roles("default").Create(ctx, role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "robot"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "robot"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: "robot", Namespace: "default"}},
	}
	if _, err := admin.RbacV1().RoleBindings("default").Create(ctx, binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	token := func() string {
		request, err := accounts.CreateToken(ctx, "robot", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return request.Status.Token
	}
	files := t.TempDir()
	tokenFile, caFile := filepath.Join(files, "token"), filepath.Join(files, "ca.crt")
	write := func(path string, content []byte) {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(tokenFile, []byte(token()))
	write(caFile, config.CAData)
	inCluster := &rest.Config{
		Host:            config.Host,
		TLSClientConfig: rest.TLSClientConfig{CAFile: caFile},
		BearerTokenFile: tokenFile,
	}
	robot := kubernetes.NewForConfigOrDie(inCluster)
	whoAmI := func() (string, error) {
		review, err := robot.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
		if err != nil {
			return "", err
		}
		ids := review.Status.UserInfo.Extra["authentication.kubernetes.io/credential-id"]
		return review.Status.UserInfo.Username + " " + strings.Join(ids, ","), nil
	}
	first, err := whoAmI()
	if err != nil || !strings.HasPrefix(first, "system:serviceaccount:default:robot JTI=") {
		t.Fatalf("%q, %v", first, err)
	}
	maps := robot.CoreV1().ConfigMaps("default")
	if _, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "m"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := maps.Delete(ctx, "m", metav1.DeleteOptions{}); !apierrors.IsForbidden(err) {
		t.Fatalf("it may not delete: %v", err)
	}
	if _, err := robot.CoreV1().Secrets("default").List(ctx, metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Fatalf("it may not list Secrets: %v", err)
	}

	// A new token in the file is used by a new client at once, and by an old one within its minute.
	write(tokenFile, []byte(token()))
	robot = kubernetes.NewForConfigOrDie(inCluster)
	second, err := whoAmI()
	if err != nil || second == first {
		t.Fatalf("%q after %q, %v", second, first, err)
	}

	// The tokens end with the account.
	if err := accounts.Delete(ctx, "robot", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the token ends with its account", func() error {
		if name, err := whoAmI(); !apierrors.IsUnauthorized(err) {
			return fmt.Errorf("%q, %v", name, err)
		}
		return nil
	})
}
