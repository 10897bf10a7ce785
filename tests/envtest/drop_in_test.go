// Package envtest checks what suites rely on beyond their own objects: processes end, state stays where it belongs.
package envtest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// helperVariable makes TestHelperProcess start a control plane and wait.
const helperVariable = "PLEACH_ENVTEST_HELPER"

// children are the processes that a process has started and that still run.
func children(t *testing.T, parent int) []int {
	t.Helper()
	entries, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	var found []int
	for _, entry := range entries {
		stat, err := os.ReadFile(entry)
		if err != nil {
			continue
		}
		// The name is in parentheses and may have anything in it; state and parent follow.
		fields := strings.Fields(string(stat[strings.LastIndex(string(stat), ")")+1:]))
		if len(fields) > 1 && fields[1] == strconv.Itoa(parent) && fields[0] != "Z" {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(entry)))
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, pid)
		}
	}
	return found
}

func isRunning(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

func TestHelperProcess(t *testing.T) {
	if os.Getenv(helperVariable) == "" {
		t.Skip("started by TestNoProcessOutlivesAKilledSuite")
	}
	environment := &envtest.Environment{}
	if _, err := environment.Start(); err != nil {
		t.Fatal(err)
	}
	fmt.Println("started")
	select {}
}

func TestNoProcessOutlivesAKilledSuite(t *testing.T) {
	suite := exec.Command(os.Args[0], "-test.run=^TestHelperProcess$")
	// A killed suite does not remove its directories.
	suite.Env = append(os.Environ(), helperVariable+"=1", "TMPDIR="+t.TempDir())
	suite.Stderr = os.Stderr
	out, err := suite.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := suite.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() && lines.Text() != "started" {
	}
	servers := children(t, suite.Process.Pid)
	if len(servers) != 2 {
		t.Fatalf("the suite has started %v", servers)
	}
	if err := suite.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = suite.Wait()
	end := time.Now().Add(20 * time.Second)
	for _, server := range servers {
		for isRunning(server) {
			if time.Now().After(end) {
				t.Fatalf("process %d outlives the suite", server)
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
}

func TestStateSurvivesARestartOfTheAPIServerAlone(t *testing.T) {
	environment := &envtest.Environment{}
	config, err := environment.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := environment.Stop(); err != nil {
			t.Error(err)
		}
	}()
	c, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	kept := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "kept", Namespace: "default"}}
	if err := c.Create(ctx, kept); err != nil {
		t.Fatal(err)
	}
	server := environment.ControlPlane.GetAPIServer()
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	// envtest makes new certificates at every start.
	user, err := environment.AddUser(envtest.User{Name: "again", Groups: []string{"system:masters"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if c, err = client.New(user.Config(), client.Options{}); err != nil {
		t.Fatal(err)
	}
	again := &corev1.ConfigMap{}
	if err := c.Get(ctx, client.ObjectKeyFromObject(kept), again); err != nil {
		t.Fatal(err)
	}
	if again.UID != kept.UID || again.ResourceVersion != kept.ResourceVersion {
		t.Fatalf("%v is not %v", again, kept)
	}
}

func TestTheFlagsOfConfigureAreTaken(t *testing.T) {
	environment := &envtest.Environment{}
	environment.ControlPlane.GetAPIServer().Configure().
		Append("feature-gates", "ContextualLogging=true").
		Append("runtime-config", "api/all=true").
		Append("audit-log-maxage", "1").
		Append("enable-aggregator-routing", "true").
		Append("apiserver-count", "1").
		Append("default-watch-cache-size", "100").
		Append("log-json-info-buffer-size", "4Ki").
		Append("max-requests-inflight", "100").
		Append("v", "4")
	if _, err := environment.Start(); err != nil {
		t.Fatal(err)
	}
	if err := environment.Stop(); err != nil {
		t.Fatal(err)
	}
}

func TestAnInstallationEmulatesAVersion(t *testing.T) {
	assets := t.TempDir()
	if out, err := exec.Command(pleachBinary(t), "envtest", "install", assets, "--version", "1.33").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Setenv("KUBEBUILDER_ASSETS", assets)
	environment := &envtest.Environment{}
	config, err := environment.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := environment.Stop(); err != nil {
			t.Error(err)
		}
	}()
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	version, err := client.ServerVersion()
	if err != nil || version.EmulationMinor != "33" {
		t.Fatalf("%v: %+v", err, version)
	}
	if _, err := client.ServerResourcesForGroupVersion("resource.k8s.io/v1"); err == nil {
		t.Fatal("an API of v1.34 is served")
	}
}

// pleachBinary is the binary under its own name, under which it has its commands.
func pleachBinary(t *testing.T) string {
	t.Helper()
	pleach := filepath.Join(t.TempDir(), "pleach")
	if err := os.Symlink(filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "kube-apiserver"), pleach); err != nil {
		t.Fatal(err)
	}
	return pleach
}

// setupEnvtest runs controller-runtime's program and returns what it prints.
func setupEnvtest(t *testing.T, store string, input io.Reader, arguments ...string) string {
	t.Helper()
	command := exec.Command("go", append([]string{"tool", "setup-envtest", "--bin-dir", store}, arguments...)...)
	command.Stdin, command.Stderr = input, os.Stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("setup-envtest %v: %v", arguments, err)
	}
	return string(out)
}

// startAndStop starts the control plane in a directory, and stops it.
func startAndStop(t *testing.T, assets string) {
	t.Helper()
	t.Setenv("KUBEBUILDER_ASSETS", assets)
	environment := &envtest.Environment{}
	if _, err := environment.Start(); err != nil {
		t.Fatal(err)
	}
	if err := environment.Stop(); err != nil {
		t.Fatal(err)
	}
}

// setup-envtest downloads the archive that the index links to and checks its hash, or takes it from standard input.
func TestSetupEnvtestTakesTheBundle(t *testing.T) {
	bundle := t.TempDir()
	var asked []string
	files := http.FileServer(http.Dir(bundle))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Path)
		files.ServeHTTP(w, r)
	}))
	defer server.Close()
	// An archive of a debug build has more than a hundred megabytes, twice: it is made once.
	out, err := exec.Command(pleachBinary(t), "envtest", "bundle", bundle, "--base-url", server.URL).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	path := strings.SplitN(string(out), "\n", 2)[0]
	index := server.URL + "/envtest-releases.yaml"
	startAndStop(t, setupEnvtest(t, t.TempDir(), nil, "use", "1.36.x", "--index", index, "-p", "path"))
	if last := asked[len(asked)-1]; last != "/"+filepath.Base(path) {
		t.Fatalf("setup-envtest asked for %v", asked)
	}

	archive, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	store := t.TempDir()
	setupEnvtest(t, store, archive, "sideload", "1.36.4")
	startAndStop(t, setupEnvtest(t, store, nil, "use", "--installed-only", "-p", "path", "1.36.x"))

	if err := os.Truncate(path, 1000); err != nil {
		t.Fatal(err)
	}
	refused := exec.Command("go", "tool", "setup-envtest", "--bin-dir", t.TempDir(), "use", "1.36.x", "--index", index)
	if out, err := refused.CombinedOutput(); err == nil || !strings.Contains(string(out), "checksum mismatch") {
		t.Fatalf("an archive with another hash: %v: %s", err, out)
	}
}

// A suite fails if its control plane does not end within 20 seconds of SIGTERM.
func TestOpenWatchesDoNotHoldUpTheEnd(t *testing.T) {
	environment := &envtest.Environment{}
	config, err := environment.Start()
	if err != nil {
		t.Fatal(err)
	}
	servers := children(t, os.Getpid())
	set, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	var watches []watch.Interface
	for range 10 {
		for _, open := range []func(context.Context, metav1.ListOptions) (watch.Interface, error){
			set.CoreV1().ConfigMaps("").Watch, set.CoreV1().Namespaces().Watch, set.AppsV1().Deployments("").Watch,
		} {
			opened, err := open(ctx, metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			watches = append(watches, opened)
		}
	}
	if err := environment.Stop(); err != nil {
		t.Fatal(err)
	}
	for _, opened := range watches {
		for range opened.ResultChan() {
		}
	}
	for _, server := range servers {
		if isRunning(server) {
			t.Errorf("process %d still runs", server)
		}
	}
}
