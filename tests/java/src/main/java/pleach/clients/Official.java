package pleach.clients;

import com.google.gson.JsonObject;
import io.kubernetes.client.informer.ResourceEventHandler;
import io.kubernetes.client.informer.SharedInformerFactory;
import io.kubernetes.client.openapi.Configuration;
import io.kubernetes.client.openapi.models.V1ObjectMeta;
import io.kubernetes.client.util.Config;
import io.kubernetes.client.util.generic.dynamic.DynamicKubernetesApi;
import io.kubernetes.client.util.generic.dynamic.DynamicKubernetesObject;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** The same operator with the official Java client. The CRD is there already. */
public final class Official {
  private Official() {}

  public static void main(String[] args) throws Exception {
    // The client's configuration is the kubeconfig that KUBECONFIG names.
    var client = Config.defaultClient();
    client.setReadTimeout(0);
    Configuration.setDefaultApiClient(client);
    var greetings = new DynamicKubernetesApi("example.com", "v1", "greetings", client);
    var greeted = new CountDownLatch(3);
    var deleted = new CountDownLatch(1);
    var factory = new SharedInformerFactory(client);
    var informer = factory.sharedIndexInformerFor(greetings, DynamicKubernetesObject.class, 0);
    informer.addEventHandler(
        new ResourceEventHandler<DynamicKubernetesObject>() {
          private void reconcile(DynamicKubernetesObject greeting) {
            if (greeting.getRaw().has("status")) {
              greeted.countDown();
              return;
            }
            var text = "Hello, " + greeting.getMetadata().getName();
            var status = new JsonObject();
            status.addProperty("text", text);
            var written = greetings.updateStatus(greeting, object -> status);
            Check.that(written.isSuccess(), "the status is written: " + written.getStatus());
          }

          @Override
          public void onAdd(DynamicKubernetesObject greeting) {
            reconcile(greeting);
          }

          @Override
          public void onUpdate(DynamicKubernetesObject before, DynamicKubernetesObject after) {
            reconcile(after);
          }

          @Override
          public void onDelete(DynamicKubernetesObject greeting, boolean unknown) {
            deleted.countDown();
          }
        });
    factory.startAllRegisteredInformers();
    for (var name : new String[] {"katherine", "dorothy", "mary"}) {
      var greeting = new DynamicKubernetesObject();
      greeting.setApiVersion("example.com/v1");
      greeting.setKind("Greeting");
      greeting.setMetadata(new V1ObjectMeta().name(name).namespace("default"));
      greetings.create(greeting).throwsApiException();
    }
    Check.that(greeted.await(30, TimeUnit.SECONDS), "three greetings have a status");
    var stored = greetings.get("default", "mary").throwsApiException().getObject();
    var text = stored.getRaw().getAsJsonObject("status").get("text").getAsString();
    Check.that("Hello, mary".equals(text), "the status is stored: " + text);
    greetings.delete("default", "mary").throwsApiException();
    Check.that(deleted.await(30, TimeUnit.SECONDS), "the deletion is seen");
    factory.stopAllRegisteredInformers();
    System.out.println("client-java: passed");
    System.exit(0);
  }
}
