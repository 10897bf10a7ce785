package pleach.clients;

import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.GenericKubernetesResourceBuilder;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.dsl.base.ResourceDefinitionContext;
import io.fabric8.kubernetes.client.informers.ResourceEventHandler;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** A small operator with fabric8's informers, which watch over WebSocket: it writes the status of each greeting. */
public final class Fabric8 {
  private Fabric8() {}

  public static void main(String[] args) throws Exception {
    var kind =
        new ResourceDefinitionContext.Builder()
            .withGroup("example.com")
            .withVersion("v1")
            .withKind("Greeting")
            .withPlural("greetings")
            .withNamespaced(true)
            .build();
    var greeted = new CountDownLatch(3);
    var deleted = new CountDownLatch(1);
    // The client's configuration is the kubeconfig that KUBECONFIG names.
    try (var client = new KubernetesClientBuilder().build()) {
      client.load(Fabric8.class.getResourceAsStream("/greetings.yaml")).serverSideApply();
      client
          .apiextensions()
          .v1()
          .customResourceDefinitions()
          .withName("greetings.example.com")
          .waitUntilCondition(
              crd ->
                  crd != null
                      && crd.getStatus().getConditions().stream()
                          .anyMatch(c -> c.getType().equals("Established") && c.getStatus().equals("True")),
              30,
              TimeUnit.SECONDS);
      var greetings = client.genericKubernetesResources(kind).inNamespace("default");
      var informer =
          greetings.inform(
              new ResourceEventHandler<GenericKubernetesResource>() {
                private void reconcile(GenericKubernetesResource greeting) {
                  if (greeting.getAdditionalProperties().get("status") instanceof Map<?, ?>) {
                    greeted.countDown();
                    return;
                  }
                  greeting.setAdditionalProperty(
                      "status", Map.of("text", "Hello, " + greeting.getMetadata().getName()));
                  greetings.resource(greeting).updateStatus();
                }

                @Override
                public void onAdd(GenericKubernetesResource greeting) {
                  reconcile(greeting);
                }

                @Override
                public void onUpdate(GenericKubernetesResource before, GenericKubernetesResource after) {
                  reconcile(after);
                }

                @Override
                public void onDelete(GenericKubernetesResource greeting, boolean unknown) {
                  deleted.countDown();
                }
              });
      for (var name : new String[] {"ada", "grace", "barbara"}) {
        greetings
            .resource(
                new GenericKubernetesResourceBuilder()
                    .withApiVersion("example.com/v1")
                    .withKind("Greeting")
                    .withNewMetadata()
                    .withName(name)
                    .endMetadata()
                    .build())
            .create();
      }
      Check.that(greeted.await(30, TimeUnit.SECONDS), "three greetings have a status");
      Check.that(informer.getIndexer().list().size() == 3, "the cache holds three greetings");
      var text = greetings.withName("ada").get().<String>get("status", "text");
      Check.that("Hello, ada".equals(text), "the status is stored: " + text);
      greetings.withName("ada").delete();
      Check.that(deleted.await(30, TimeUnit.SECONDS), "the deletion is seen");
      informer.stop();
      client.genericKubernetesResources(kind).inNamespace("default").delete();
    }
    System.out.println("fabric8: passed");
  }
}
