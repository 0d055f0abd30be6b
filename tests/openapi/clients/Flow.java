import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.List;
import java.util.Map;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.SessionsApi;
import org.openapitools.client.model.CreateSessionByCredential;
import org.openapitools.client.model.CredentialRequest;
import org.openapitools.client.model.RequestedFormat;
import org.openapitools.client.model.SessionRequest;
import org.openapitools.client.model.Status;

/** The flow with the Java client (library native) of openapi-generator. */
public final class Flow {
  public static void main(String[] arguments) throws Exception {
    String bearer = "Bearer " + System.getenv("IDGATE_API_KEY");
    ApiClient client = new ApiClient();
    client.updateBaseUri(System.getenv("IDGATE_URL"));
    client.setRequestInterceptor(request -> request.header("Authorization", bearer));
    SessionsApi sessions = new SessionsApi(client);

    CredentialRequest asked = new CredentialRequest()
        .id("pid")
        .format(RequestedFormat.VC_SD_JWT)
        .issuerId(System.getenv("ISSUER_ID"))
        .claims(List.of("given_name"));
    var form = new CreateSessionByCredential().credentials(List.of(asked));
    var made = sessions.createSession(new SessionRequest(form), null);
    System.out.println(made.getQrCodeUrl());
    new BufferedReader(new InputStreamReader(System.in)).readLine(); // the wallet has answered

    var session = sessions.readSession(made.getSessionId(), null);
    var verifiedAt = session.getVerificationDetails().getVerifiedAt();
    if (session.getStatus() != Status.VERIFIED || !verifiedAt.isBefore(made.getExpiresAt())) {
      throw new IllegalStateException(session.getStatus().toString());
    }
    sessions.deleteSession(made.getSessionId());
    try {
      sessions.readSession(made.getSessionId(), null);
    } catch (ApiException gone) {
      Map<?, ?> claims = (Map<?, ?>) ((Map<?, ?>) session.getClaims()).get("pid");
      String code = client.getObjectMapper().readTree(gone.getResponseBody()).get("error").asText();
      System.out.println(claims.get("given_name") + " " + code);
    }
  }
}
