package pleach.clients;

import io.fabric8.kubeapitest.KubeAPIServer;
import io.fabric8.kubeapitest.KubeAPIServerConfigBuilder;
import io.fabric8.kubernetes.api.model.ConfigMapBuilder;
import io.fabric8.kubernetes.client.Config;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;

/** fabric8's kube-api-test, which starts etcd and kube-apiserver with flags and certificates of its own making. */
public final class KubeApiTest {
  private KubeApiTest() {}

  /** Arguments: the directory in which the programs are under k8s/VERSION-OS-ARCH, and the version. */
  public static void main(String[] args) {
    var config = new KubeAPIServerConfigBuilder()
        .withTestDir(args[0])
        .withApiServerVersion(args[1])
        .withOfflineMode(true)
        .withUpdateKubeConfig(false)
        .build();
    for (var turn = 0; turn < 2; turn++) {
      var server = new KubeAPIServer(config);
      server.start();
      try (var client = new KubernetesClientBuilder()
          .withConfig(Config.fromKubeconfig(server.getKubeConfigYaml())).build()) {
        var map = new ConfigMapBuilder().withNewMetadata().withName("a").withNamespace("default").endMetadata();
        client.resource(map.addToData("turn", "" + turn).build()).create();
        var found = client.configMaps().inNamespace("default").withName("a").require();
        Check.that(found.getData().get("turn").equals("" + turn), "each server begins empty: " + found);
      } finally {
        server.stop();
      }
    }
    System.out.println("kube-api-test: two servers started and stopped");
  }
}
