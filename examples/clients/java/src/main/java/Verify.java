import java.net.http.HttpRequest;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.SessionsApi;
import org.openapitools.client.model.CreateSessionByCredential;
import org.openapitools.client.model.CreateSessionByCredentialCredentialsInner;
import org.openapitools.client.model.CredentialRequest;
import org.openapitools.client.model.ErrorBody;
import org.openapitools.client.model.Profile;
import org.openapitools.client.model.RequestedFormat;
import org.openapitools.client.model.SessionRequest;
import org.openapitools.client.model.SessionStatus;
import org.openapitools.client.model.Status;

/** Asks a wallet for a given name and prints the verified answer. */
public final class Verify {
  public static void main(String[] arguments) throws Exception {
    ApiClient client = new ApiClient();
    client.updateBaseUri(System.getenv("GATEWAY_URL"));
    client.setReadTimeout(Duration.ofSeconds(30));
    client.setRequestInterceptor(Verify::authorize);
    try {
      verify(new SessionsApi(client));
    } catch (ApiException refused) {
      System.err.println(told(client, refused));
      System.exit(1);
    }
  }

  private static void authorize(HttpRequest.Builder request) {
    request.header("Authorization", "Bearer " + System.getenv("API_KEY"));
  }

  private static void verify(SessionsApi sessions) throws ApiException, InterruptedException {
    CredentialRequest credential = new CredentialRequest()
        .id("pid")
        .format(RequestedFormat.VC_SD_JWT)
        .issuerId(System.getenv("ISSUER_ID"))
        .claims(List.of("given_name"));
    CreateSessionByCredential request = new CreateSessionByCredential()
        .profiles(Set.of(Profile._1_0))
        .credentials(List.of(new CreateSessionByCredentialCredentialsInner(credential)));
    var created = sessions.createSession(new SessionRequest(request), null);
    // Show the link as a QR code, or open it on the person's phone.
    System.out.println(created.getQrCodeUrl());

    SessionStatus session = settled(sessions, created.getSessionId());
    if (session.getStatus() != Status.VERIFIED) {
      System.err.println(session.getStatus() + ": " + session.getReason());
      System.exit(1);
    }
    if (session.getClaims() == null) {
      System.err.println(session.getStatus() + ", without claims: " + session.getClaimsWithheld());
      System.exit(1);
    }
    Map<?, ?> claims = (Map<?, ?>) ((Map<?, ?>) session.getClaims()).get("pid");
    System.out.println(session.getStatus() + " " + session.getVerificationDetails().getVerifiedAt());
    System.out.println("given_name: " + claims.get("given_name"));

    // The gateway keeps only the audit entries of the session.
    sessions.deleteSession(created.getSessionId());
  }

  /** Asks once a second until the session is VERIFIED, FAILED or EXPIRED. Each session expires, so it ends. */
  private static SessionStatus settled(SessionsApi sessions, String id) throws ApiException, InterruptedException {
    while (true) {
      SessionStatus session = sessions.readSession(id, null);
      switch (session.getStatus()) {
        case VERIFIED, FAILED, EXPIRED -> {
          return session;
        }
        default -> Thread.sleep(1000);
      }
    }
  }

  /** The error in the gateway's answer, or the reason why there is no answer. */
  private static String told(ApiClient client, ApiException refused) throws Exception {
    if (refused.getResponseBody() == null) {
      return refused.getMessage();
    }
    ErrorBody answer = client.getObjectMapper().readValue(refused.getResponseBody(), ErrorBody.class);
    return answer.getError() + ": " + answer.getMessage();
  }
}
