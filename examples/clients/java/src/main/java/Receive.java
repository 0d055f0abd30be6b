import com.fasterxml.jackson.databind.ObjectMapper;
import com.svix.Webhook;
import com.svix.exceptions.WebhookVerificationException;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.openapitools.client.ApiClient;
import org.openapitools.client.model.WebhookPayload;

/** Verifies each webhook's signature, and prints the session that it reports. */
public final class Receive {
  private static final int LARGEST = 64 * 1024;

  private final Webhook webhook;
  private final ObjectMapper json = new ApiClient().getObjectMapper();
  /** The received notifications. Keep them in your database, so that they survive a restart. */
  private final Set<String> seen = ConcurrentHashMap.newKeySet();

  private Receive(Webhook webhook) {
    this.webhook = webhook;
  }

  public static void main(String[] arguments) throws Exception {
    String secret = System.getenv("SIGNING_SECRET");
    if (secret == null || secret.isEmpty()) {
      throw new IllegalStateException("SIGNING_SECRET is not set");
    }
    int port = Integer.parseInt(Objects.requireNonNullElse(System.getenv("PORT"), "3000"));
    HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 0);
    server.createContext("/hooks/idgate", new Receive(new Webhook(secret))::answer);
    server.start();
    System.out.println("http://127.0.0.1:" + server.getAddress().getPort() + "/hooks/idgate");
  }

  private void answer(HttpExchange exchange) throws IOException {
    try (exchange) {
      // The signature covers the raw bytes, so read them before you parse them.
      String body = new String(exchange.getRequestBody().readNBytes(LARGEST), StandardCharsets.UTF_8);
      exchange.sendResponseHeaders(take(exchange, body) ? 204 : 400, -1);
    }
  }

  private boolean take(HttpExchange exchange, String body) {
    try {
      webhook.verify(body, exchange.getRequestHeaders());
      WebhookPayload notification = json.readValue(body, WebhookPayload.class);
      // A notification may arrive twice.
      if (seen.add(exchange.getRequestHeaders().getFirst("webhook-id"))) {
        System.out.println(notification.getStatus() + " " + notification.getSessionId());
      }
      return true;
    } catch (WebhookVerificationException | IOException refused) {
      return false;
    }
  }
}
