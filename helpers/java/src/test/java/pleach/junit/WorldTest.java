package pleach.junit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.api.model.ConfigMapBuilder;
import io.fabric8.kubernetes.client.ConfigBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.KubernetesClientException;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

@ExtendWith(Pleach.class)
class WorldTest {
  private static KubernetesClient client(World world) {
    var config = new ConfigBuilder(io.fabric8.kubernetes.client.Config.empty())
        .withMasterUrl(world.url).withOauthToken(world.token).withNamespace("default").withRequestRetryBackoffLimit(0)
        .build();
    return new KubernetesClientBuilder().withConfig(config).build();
  }

  private static ConfigMap map(String name) {
    return new ConfigMapBuilder().withNewMetadata().withName(name).endMetadata().build();
  }

  @RepeatedTest(3)
  void everyTestHasAWorldOfItsOwn(World world) {
    world.advance(Duration.ofHours(1));
    world.addFaults("[{match: {verbs: [create]}, error: 409, times: 1}]");
    try (var client = client(world)) {
      assertThrows(KubernetesClientException.class, () -> client.resource(map("a")).create());
      assertEquals("2027-01-15T09:00:00Z", client.resource(map("a")).create().getMetadata().getCreationTimestamp());
    }
    assertEquals(List.of(409, 201), world.requests().stream().map(r -> r.get("code").asInt()).toList());
    world.assertWritesAtMost("configmaps", 2);
    assertThrows(AssertionError.class, () -> world.assertWritesAtMost("configmaps", 1));
    assertThrows(AssertionError.class, () -> world.assertWritesPerReconcile(r -> true, 1));
    world.assertNoHotLoop(r -> true, Duration.ofMillis(30));
  }

  @Test
  void recordingsArePlayedAgain(World world) {
    try (var client = client(world)) {
      client.resource(map("a")).create();
      var recording = world.recording("helpers/java");
      client.configMaps().withName("a").delete();
      assertNull(client.configMaps().withName("a").get());
      assertEquals(List.of(), world.replay(recording));
      assertEquals("a", world.eventually(() -> client.configMaps().withName("a").require().getMetadata().getName()));
    }
  }
}
