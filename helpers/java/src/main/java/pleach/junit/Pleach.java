package pleach.junit;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.extension.AfterTestExecutionCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;

/**
 * A JUnit 5 extension that gives each test an API server of its own, as a parameter of type {@link World}.
 *
 * <p>One process serves all worlds of a test run; a fork takes milliseconds. The binary is PLEACH_BINARY, or pleach in
 * PATH. A test that fails prints its requests.
 */
public final class Pleach implements ParameterResolver, AfterTestExecutionCallback {
  private static final ExtensionContext.Namespace NAMESPACE = ExtensionContext.Namespace.create(Pleach.class);
  private static final String TOKEN = "pleachtest";
  private static final AtomicInteger NUMBERS = new AtomicInteger();

  /** The process; it ends with the test run, also if that is killed. */
  private static final class Server implements ExtensionContext.Store.CloseableResource, AutoCloseable {
    private final Process process;
    private final World first;

    Server() {
      var binary = System.getenv().getOrDefault("PLEACH_BINARY", "pleach");
      var command = new ProcessBuilder(
          binary, "serve", "--in-memory", "--test-endpoints", "--end-with-parent", "--port=0", "--log-level=warn");
      command.environment().put("PLEACH_TOKEN", TOKEN);
      command.redirectError(ProcessBuilder.Redirect.INHERIT);
      try {
        process = command.start();
        var line = new BufferedReader(new InputStreamReader(process.getInputStream())).readLine();
        if (line == null || !line.contains(" serves at ")) {
          throw new IllegalStateException("pleach ended before it listened");
        }
        first = new World(line.substring(line.indexOf(" serves at ") + " serves at ".length()), TOKEN, "default");
      } catch (IOException error) {
        throw new UncheckedIOException(error);
      }
    }

    @Override
    public void close() {
      process.destroy();
    }
  }

  /** The world that the worlds of tests are forks of: for what all tests need. */
  public static World first(ExtensionContext context) {
    return context.getRoot().getStore(NAMESPACE).getOrComputeIfAbsent(Server.class, key -> new Server(), Server.class)
        .first;
  }

  @Override
  public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
    return parameter.getParameter().getType() == World.class;
  }

  @Override
  public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
    return context.getStore(NAMESPACE)
        .getOrComputeIfAbsent(World.class, key -> first(context).fork("junit-" + NUMBERS.incrementAndGet()), World.class);
  }

  @Override
  public void afterTestExecution(ExtensionContext context) {
    var world = context.getStore(NAMESPACE).remove(World.class, World.class);
    if (world == null) {
      return;
    }
    if (context.getExecutionException().isPresent()) {
      System.err.println("requests of " + context.getDisplayName() + ":\n" + world.transcript());
    }
    world.remove();
  }
}
