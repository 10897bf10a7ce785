package pleach.junit;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.StreamSupport;

/** An API server of a test: {@link #url} and {@link #token} are what a client needs. */
public final class World {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final HttpClient HTTP = HttpClient.newHttpClient();
  private static final Duration TIMEOUT = Duration.ofSeconds(10);
  private static final Duration SETTLED = Duration.ofMillis(200);
  private static final List<String> READS = List.of("GET", "HEAD", "OPTIONS");

  public final String name;
  public final String url;
  public final String token;
  private final String server;

  World(String server, String token, String name) {
    this.server = server;
    this.token = token;
    this.name = name;
    this.url = server + "/worlds/" + name;
  }

  /** Another world with everything that is in this one. */
  public World fork(String as) {
    ask("PUT", "/" + as, Map.of("from", name));
    return new World(server, token, as);
  }

  /** Another world with everything that is in this one; its uids, generated names and probabilities are of this seed. */
  public World fork(String as, int seed) {
    ask("PUT", "/" + as, Map.of("from", name, "seed", seed));
    return new World(server, token, as);
  }

  /** Makes this world anew from another one. Watches end, and clients list again. */
  public void reset(World origin) {
    ask("PUT", "/" + name, Map.of("from", origin.name));
  }

  public void remove() {
    ask("DELETE", "/" + name, null);
  }

  /** Moves the clock, which stands still otherwise. */
  public void advance(Duration by) {
    ask("POST", "/" + name + "/clock", Map.of("advance", by.toMillis() + "ms"));
  }

  /** Restarts the server: watches are cut, and requests while it is away. */
  public void restart(Duration away) {
    ask("POST", "/" + name + "/restart", Map.of("away", away.toMillis() + "ms"));
  }

  /** Adds a user; returns the bearer token. */
  public String addUser(String user, String... groups) {
    return parse(ask("PUT", "/" + name + "/users/" + user, Map.of("groups", List.of(groups)))).get("token").asText();
  }

  /** Adds fault rules, a list in YAML. */
  public void addFaults(String rules) {
    send("POST", "/" + name + "/faults", rules);
  }

  public void clearFaults() {
    ask("DELETE", "/" + name + "/faults", null);
  }

  /** All requests so far that have been answered, with the fields user, userAgent, verb, resource, name, code, …. */
  public List<JsonNode> requests() {
    var requests = parse(ask("GET", "/" + name + "/requests", null));
    return StreamSupport.stream(requests.spliterator(), false).toList();
  }

  /** The requests so far, a line each. */
  public String transcript() {
    return ask("GET", "/" + name + "/transcript", null);
  }

  /** The requests so far as a conversation that {@link #replay} plays again, in JSON. */
  public String recording(String as) {
    return ask("GET", "/" + name + "/recording?name=" + as, null);
  }

  /** Plays a recording to this world; returns a line for each answer that differs. */
  public List<String> replay(String recording) {
    var differences = parse(send("POST", "/" + name + "/replay", recording));
    return StreamSupport.stream(differences.spliterator(), false).map(JsonNode::asText).toList();
  }

  /** Waits until a check returns without an exception. */
  public <T> T eventually(Callable<T> check) {
    var end = System.nanoTime() + TIMEOUT.toNanos();
    while (true) {
      try {
        return check.call();
      } catch (Exception | AssertionError problem) {
        if (System.nanoTime() > end) {
          throw new AssertionError("not within " + TIMEOUT + ": " + problem + "\nrequests:\n" + transcript(), problem);
        }
        pause();
      }
    }
  }

  /** Watches for a while that no request is one that must not be. */
  public void never(Predicate<JsonNode> isWrong, Duration period) {
    for (var end = System.nanoTime() + period.toNanos();; pause()) {
      for (var request : requests()) {
        check(!isWrong.test(request), request.get("method").asText() + " " + request.get("uri").asText());
      }
      if (System.nanoTime() > end) {
        return;
      }
    }
  }

  /**
   * Runs a scenario in a fork without faults and in one for each list of rules; fails if it does not end in the same
   * state: all objects but events and leases. The scenario starts the controller and does what a user does; what it
   * returns stops the controller.
   */
  public void assertConvergesUnder(List<String> faults, Function<World, AutoCloseable> scenario) {
    var calm = fork(name + "-calm");
    var stop = scenario.apply(calm);
    calm.assertNoHotLoop(request -> true, SETTLED);
    var expected = calm.objects();
    close(stop);
    calm.remove();
    for (var rules : faults) {
      var world = fork(name + "-faults");
      world.addFaults(rules);
      var running = scenario.apply(world);
      world.eventually(() -> {
        var found = world.objects();
        if (!found.equals(expected)) {
          throw new AssertionError("under " + rules + ":\n" + found + "\ninstead of\n" + expected);
        }
        return found;
      });
      close(running);
      world.remove();
    }
  }

  private static void close(AutoCloseable controller) {
    try {
      controller.close();
    } catch (Exception error) {
      throw new IllegalStateException("the controller does not stop", error);
    }
  }

  /** All objects but events and leases, without uids, times and resource versions. */
  private JsonNode objects() {
    return parse(ask("GET", "/" + name + "/objects", null));
  }

  /** Fails if there are more writes of a resource: "deployments", "crontabs/status". */
  public void assertWritesAtMost(String resource, int most) {
    var count = requests().stream().filter(World::isWrite).filter(r -> resource.equals(r.get("resource").asText()))
        .count();
    check(count <= most, count + " writes of " + resource + ", at most " + most + " expected");
  }

  /** Fails if a controller writes more often between two writes of others, which are what it reacts to. */
  public void assertWritesPerReconcile(Predicate<JsonNode> isController, int most) {
    var writes = 0;
    for (var request : requests()) {
      if (!isWrite(request) || isHousekeeping(request)) {
        continue;
      }
      writes = isController.test(request) ? writes + 1 : 0;
      check(writes <= most, "more than " + most + " writes in a reconcile");
    }
  }

  /** Fails if a controller has written since its watches were sent so many events, bookmarks aside, or fewer were sent. */
  public void assertNoWriteAfterEvent(Predicate<JsonNode> isController, int event) {
    var requests = requests();
    var events = requests.stream().filter(r -> "watch".equals(r.get("verb").asText()) && isController.test(r))
        .flatMap(r -> StreamSupport.stream(r.get("events").spliterator(), false)).mapToLong(JsonNode::asLong).sorted()
        .toArray();
    check(event >= 1 && event <= events.length, "there is no event " + event + ": " + events.length + " were sent");
    for (var request : requests) {
      var isLater = request.get("number").asLong() > events[event - 1];
      var isWrong = isLater && isWrite(request) && !isHousekeeping(request) && isController.test(request);
      check(!isWrong, "after event " + event + ": " + request.get("method").asText() + " " + request.get("uri").asText());
    }
  }

  /** Waits until a controller is quiet for a while, but for watches, leases and events; else it is in a hot loop. */
  public void assertNoHotLoop(Predicate<JsonNode> isController, Duration quiet) {
    var end = System.nanoTime() + TIMEOUT.toNanos();
    long seen = -1;
    for (var since = System.nanoTime(); System.nanoTime() - since < quiet.toNanos(); pause()) {
      var count = requests().stream()
          .filter(r -> isController.test(r) && !"watch".equals(r.get("verb").asText()) && !isHousekeeping(r)).count();
      if (count != seen) {
        seen = count;
        since = System.nanoTime();
      }
      check(System.nanoTime() < end, count + " requests, and no end");
    }
  }

  private static boolean isWrite(JsonNode request) {
    return !READS.contains(request.get("method").asText());
  }

  private static boolean isHousekeeping(JsonNode request) {
    return List.of("leases", "events").contains(request.get("resource").asText());
  }

  private void check(boolean holds, String message) {
    if (!holds) {
      throw new AssertionError(message + "\nrequests:\n" + transcript());
    }
  }

  private static void pause() {
    try {
      Thread.sleep(10);
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(error);
    }
  }

  private String ask(String method, String path, Object body) {
    try {
      return send(method, path, body == null ? "" : JSON.writeValueAsString(body));
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  private String send(String method, String path, String body) {
    var request = HttpRequest.newBuilder(URI.create(server + "/pleach/worlds" + path))
        .version(HttpClient.Version.HTTP_1_1)
        .header("Authorization", "Bearer " + token)
        .method(method, HttpRequest.BodyPublishers.ofString(body))
        .build();
    try {
      var answer = HTTP.send(request, HttpResponse.BodyHandlers.ofString());
      if (answer.statusCode() != 200) {
        throw new IllegalStateException(method + " " + path + ": " + answer.body());
      }
      return answer.body();
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(error);
    }
  }

  private static JsonNode parse(String text) {
    try {
      return JSON.readTree(text);
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }
}
