// The receiving half of a wallet, on the EUDI library for Kotlin. Each input line is an errand in JSON: an offer, keys for
// the samples, and the kind of wallet authentication. Each output line is the outcome of an errand.

import com.nimbusds.jose.JOSEObjectType
import com.nimbusds.jose.JWSAlgorithm
import com.nimbusds.jose.JWSHeader
import com.nimbusds.jose.crypto.ECDSASigner
import com.nimbusds.jose.jwk.Curve
import com.nimbusds.jose.jwk.ECKey
import com.nimbusds.jose.jwk.gen.ECKeyGenerator
import com.nimbusds.jose.util.Base64
import com.nimbusds.jwt.JWTClaimsSet
import com.nimbusds.jwt.SignedJWT
import eu.europa.ec.eudi.openid4vci.Client
import eu.europa.ec.eudi.openid4vci.ClientAttestationJWT
import eu.europa.ec.eudi.openid4vci.ClientAttestationPoPJWTSpec
import eu.europa.ec.eudi.openid4vci.Credential
import eu.europa.ec.eudi.openid4vci.CredentialIssuanceEvent
import eu.europa.ec.eudi.openid4vci.CredentialOffer
import eu.europa.ec.eudi.openid4vci.CredentialOfferRequestException
import eu.europa.ec.eudi.openid4vci.CredentialOfferRequestResolver
import eu.europa.ec.eudi.openid4vci.CredentialResponseEncryptionPolicy
import eu.europa.ec.eudi.openid4vci.IssuanceRequestPayload
import eu.europa.ec.eudi.openid4vci.Issuer
import eu.europa.ec.eudi.openid4vci.IssuerMetadataPolicy
import eu.europa.ec.eudi.openid4vci.JwtBindingKey
import eu.europa.ec.eudi.openid4vci.KeyGenerationConfig
import eu.europa.ec.eudi.openid4vci.KtorHttpClientFactory
import eu.europa.ec.eudi.openid4vci.OpenId4VCIConfig
import eu.europa.ec.eudi.openid4vci.PopSigner
import eu.europa.ec.eudi.openid4vci.SubmissionOutcome
import io.ktor.client.HttpClient
import io.ktor.client.engine.java.Java
import io.ktor.client.plugins.contentnegotiation.ContentNegotiation
import io.ktor.serialization.kotlinx.json.json
import kotlinx.coroutines.runBlocking
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonObjectBuilder
import kotlinx.serialization.json.add
import kotlinx.serialization.json.buildJsonObject
import kotlinx.serialization.json.jsonArray
import kotlinx.serialization.json.jsonObject
import kotlinx.serialization.json.jsonPrimitive
import kotlinx.serialization.json.put
import kotlinx.serialization.json.putJsonArray
import java.net.URI
import java.security.KeyStore
import java.security.cert.CertificateFactory
import java.time.Instant
import java.util.Date
import javax.net.ssl.SSLContext
import javax.net.ssl.TrustManagerFactory

private const val CLIENT_ID = "eudi-of-the-tests"

fun main() {
    // Standard output is for outcomes only. The library logs elsewhere.
    val out = System.out
    System.setOut(System.err)
    for (line in generateSequence(::readLine)) {
        out.println(runBlocking { run(Json.parseToJsonElement(line).jsonObject) })
    }
}

/** The last step of an errand, and the error that ended it, if any. */
private suspend fun run(errand: JsonObject): JsonObject = buildJsonObject {
    runCatching { receive(errand) }.onFailure {
        it.printStackTrace()
        val why = if (it is CredentialOfferRequestException) it.error else it
        put("error", "$why")
    }
}

/** Accepts the errand's offer. Reports the result of each step. */
private suspend fun JsonObjectBuilder.receive(errand: JsonObject) {
    val http = http(errand.text("ca"))
    val offer = CredentialOfferRequestResolver(http, IssuerMetadataPolicy.IgnoreSigned)
        .resolve(errand.text("offer")).getOrThrow()
    putJsonArray("configurations") {
        offer.credentialIssuerMetadata.credentialConfigurationsSupported.keys.forEach { add(it.value) }
    }
    val issuer = Issuer.make(config(errand), offer, http).getOrThrow()
    val authorized = with(issuer) {
        authorizeWithPreAuthorizationCode(errand["tx_code"]?.jsonPrimitive?.content).getOrThrow()
    }
    put("token", authorized.accessToken::class.simpleName)
    val keys = errand.getValue("keys").jsonArray.map { ECKey.parse(it.toString()) }
    val payload = IssuanceRequestPayload.ConfigurationBased(offer.credentialConfigurationIdentifiers.single())
    val (then, outcome) = with(issuer) { authorized.request(payload, keys.map(::signer)).getOrThrow() }
    val issued = when (outcome) {
        is SubmissionOutcome.Success -> outcome
        is SubmissionOutcome.Failed -> throw outcome.error
        is SubmissionOutcome.Deferred -> error("deferred")
    }
    putJsonArray("credentials") {
        issued.credentials.forEach { add((it.credential as Credential.Str).value) }
    }
    val notification = checkNotNull(issued.notificationId) { "there is no notification id" }
    with(issuer) { then.notify(CredentialIssuanceEvent.Accepted(notification, null)).getOrThrow() }
    put("notified", true)
}

private fun config(errand: JsonObject) = OpenId4VCIConfig(
    client = errand["provider"]?.let { attested(it.jsonObject) } ?: Client.Public(CLIENT_ID),
    authFlowRedirectionURI = URI("https://wallet.example/redirect"),
    keyGenerationConfig = KeyGenerationConfig.ecOnly(Curve.P_256),
    credentialResponseEncryptionPolicy = CredentialResponseEncryptionPolicy.SUPPORTED,
    dPoPSigner = if ("bound" in errand) signer(ECKeyGenerator(Curve.P_256).generate()) else null,
)

/** A client with its own key and an attestation of a wallet provider. */
private fun attested(provider: JsonObject): Client.Attested {
    val instance = ECKeyGenerator(Curve.P_256).generate()
    val header = JWSHeader.Builder(JWSAlgorithm.ES256)
        .type(JOSEObjectType("oauth-client-attestation+jwt"))
        .x509CertChain(listOf(Base64(provider.text("certificate"))))
        .build()
    val claims = JWTClaimsSet.Builder()
        .issuer("https://provider.example")
        .subject(CLIENT_ID)
        .claim("cnf", mapOf("jwk" to instance.toPublicJWK().toJSONObject()))
        .expirationTime(Date.from(Instant.now().plusSeconds(3600)))
        .build()
    val attestation = SignedJWT(header, claims)
    attestation.sign(ECDSASigner(ECKey.parse(provider.getValue("key").toString())))
    val proof = ClientAttestationPoPJWTSpec(JWSAlgorithm.ES256, jwsSigner = ECDSASigner(instance))
    return Client.Attested(ClientAttestationJWT(attestation), proof)
}

private fun signer(key: ECKey): PopSigner.Jwt =
    PopSigner.jwtPopSigner(key, JWSAlgorithm.ES256, JwtBindingKey.Jwk(key.toPublicJWK()))

/** HTTP clients that trust servers under this root (PEM). The library needs TLS. */
private fun http(root: String): KtorHttpClientFactory {
    val store = KeyStore.getInstance(KeyStore.getDefaultType()).apply { load(null) }
    val certificate = CertificateFactory.getInstance("X.509").generateCertificate(root.byteInputStream())
    store.setCertificateEntry("root", certificate)
    val trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm()).apply { init(store) }
    val context = SSLContext.getInstance("TLS").apply { init(null, trust.trustManagers, null) }
    return {
        HttpClient(Java) {
            engine { config { sslContext(context) } }
            install(ContentNegotiation) { json(Json { ignoreUnknownKeys = true }) }
        }
    }
}

private fun JsonObject.text(name: String) = getValue(name).jsonPrimitive.content
