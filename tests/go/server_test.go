package pleach

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const soon = 30 * time.Second

// binary is named by PLEACH_BINARY; the debug build of this checkout otherwise.
func binary() string {
	if named := os.Getenv("PLEACH_BINARY"); named != "" {
		return named
	}
	return filepath.Join("..", "..", "target", "debug", "pleach")
}

// storage returns the flags of a server's store: memory, or with PLEACH_ETCD=all an etcd of its own. Test endpoints are
// those of servers in memory.
func storage(t *testing.T, arguments []string) []string {
	t.Helper()
	if os.Getenv("PLEACH_ETCD") != "all" || slices.Contains(arguments, "--test-endpoints") {
		return []string{"--in-memory"}
	}
	shared := filepath.Join(t.TempDir(), "shared")
	if out, err := exec.Command(binary(), "credentials", shared).CombinedOutput(); err != nil {
		t.Fatalf("pleach credentials: %v: %s", err, out)
	}
	return []string{"--etcd-servers", etcd(t), "--data-dir", shared}
}

// etcd runs an etcd during a test and returns its client URL.
func etcd(t *testing.T) string {
	t.Helper()
	program := "etcd"
	if tools := os.Getenv("PLEACH_TOOLS"); tools != "" {
		program = filepath.Join(tools, "bin", "etcd")
	}
	client, peer := freeURL(t), freeURL(t)
	server := exec.Command(program, "--data-dir", filepath.Join(t.TempDir(), "etcd"), "--log-level", "error",
		"--unsafe-no-fsync", "--listen-client-urls", client, "--advertise-client-urls", client,
		"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "default="+peer)
	server.Stderr = os.Stderr
	if err := server.Start(); err != nil {
		t.Fatalf("etcd does not start (scripts/setup.sh): %v", err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	return client
}

func freeURL(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return "http://" + listener.Addr().String()
}

// start runs a server during a test and returns its configuration.
func start(t *testing.T, arguments ...string) *rest.Config {
	t.Helper()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	all := append([]string{"serve", "--port", "0", "--log-level", "warn", "--kubeconfig", kubeconfig}, storage(t, arguments)...)
	server := exec.Command(binary(), append(all, arguments...)...)
	server.Stderr = os.Stderr
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatalf("the server does not start (cargo build -p pleach): %v", err)
	}
	t.Cleanup(func() {
		_ = server.Process.Signal(os.Interrupt)
		_ = server.Wait()
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "export KUBECONFIG=") {
			config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
			if err != nil {
				t.Fatal(err)
			}
			config.QPS, config.Burst = 1000, 1000
			return config
		}
	}
	t.Fatal("the server ended before it listened")
	return nil
}

// eventually retries until there is no error.
func eventually(t *testing.T, what string, ask func() error) {
	t.Helper()
	end := time.Now().Add(soon)
	for {
		err := ask()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s: %v", soon, what, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// orchards is the CRD of the tests.
func orchards() *apiextensionsv1.CustomResourceDefinition {
	integer := apiextensionsv1.JSONSchemaProps{Type: "integer"}
	fields := func(properties map[string]apiextensionsv1.JSONSchemaProps) apiextensionsv1.JSONSchemaProps {
		return apiextensionsv1.JSONSchemaProps{Type: "object", Properties: properties}
	}
	schema := fields(map[string]apiextensionsv1.JSONSchemaProps{
		"spec": fields(map[string]apiextensionsv1.JSONSchemaProps{"trees": integer}),
		"status": fields(map[string]apiextensionsv1.JSONSchemaProps{
			"trees":              integer,
			"observedGeneration": integer,
		}),
	})
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "orchards.go.example.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "go.example.com",
			Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{
				Plural: "orchards", Singular: "orchard", Kind: "Orchard", ListKind: "OrchardList",
			},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema:       &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &schema},
				Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
			}},
		},
	}
}

// plant creates the CRD and waits until it is established.
func plant(t *testing.T, c client.Client) {
	t.Helper()
	ctx := context.Background()
	crd := orchards()
	if err := c.Create(ctx, crd); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the CRD is established", func() error {
		if err := c.Get(ctx, client.ObjectKeyFromObject(crd), crd); err != nil {
			return err
		}
		for _, condition := range crd.Status.Conditions {
			if condition.Type == apiextensionsv1.Established && condition.Status == apiextensionsv1.ConditionTrue {
				return nil
			}
		}
		return errors.New(fmt.Sprint(crd.Status.Conditions))
	})
}
