package pleach.junit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.api.model.ConfigMapBuilder;
import io.fabric8.kubernetes.client.ConfigBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.fabric8.kubernetes.client.Watcher;
import io.fabric8.kubernetes.client.WatcherException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
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
  void nothingHappensThatMustNot(World world) {
    try (var client = client(world)) {
      client.resource(map("a")).create();
      world.never(r -> "delete".equals(r.get("verb").asText()), Duration.ofMillis(30));
      client.configMaps().withName("a").delete();
      assertThrows(AssertionError.class,
          () -> world.never(r -> "delete".equals(r.get("verb").asText()), Duration.ZERO));
    }
  }

  /** A controller that makes a ConfigMap, and tries again until it is there if it is told to. */
  private static AutoCloseable make(World world, boolean triesAgain) {
    var client = client(world);
    var thread = new Thread(() -> {
      do {
        try {
          client.resource(map("made")).create();
          return;
        } catch (KubernetesClientException refused) {
          if (refused.getCode() == 409 && client.configMaps().withName("made").get() != null) {
            return;
          }
        }
      } while (triesAgain);
    });
    thread.start();
    return () -> {
      thread.join();
      client.close();
    };
  }

  @Test
  void controllersConvergeUnderFaults(World world) {
    var faults = List.of("[{match: {verbs: [create]}, error: 409, times: 2}]",
        "[{match: {verbs: [create]}, errorAfterCommit: 500, times: 1}]");
    world.assertConvergesUnder(faults, fork -> make(fork, true));
    var failure = assertThrows(AssertionError.class, () -> world.assertConvergesUnder(faults, fork -> make(fork, false)));
    assertTrue(failure.getMessage().contains("under " + faults.get(0)), failure.getMessage());
  }

  @Test
  void watchesSeeEvents(World world) throws InterruptedException {
    var seen = new LinkedBlockingQueue<String>();
    try (var client = client(world);
        var watch = client.configMaps().watch(new Watcher<>() {
          @Override
          public void eventReceived(Action action, ConfigMap object) {
            seen.add(action + " " + object.getMetadata().getName());
          }

          @Override
          public void onClose(WatcherException cause) {
          }
        })) {
      client.resource(map("a")).create();
      var events = new ArrayList<String>();
      while (!events.contains("ADDED a")) {
        var event = seen.poll(10, TimeUnit.SECONDS);
        assertNotNull(event, () -> "events: " + events);
        events.add(event);
      }
    }
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
