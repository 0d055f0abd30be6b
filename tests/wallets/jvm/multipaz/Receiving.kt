// Accepts offers by Multipaz's own provisioning, with software keys and a wallet provider of the test.

@file:OptIn(
    kotlin.time.ExperimentalTime::class,
    kotlinx.coroutines.ExperimentalCoroutinesApi::class,
    io.ktor.utils.io.InternalAPI::class,
)

import io.ktor.client.HttpClient
import io.ktor.client.call.replaceResponse
import io.ktor.client.engine.java.Java
import io.ktor.client.plugins.api.Send
import io.ktor.client.plugins.api.createClientPlugin
import io.ktor.client.statement.bodyAsText
import io.ktor.http.headersOf
import io.ktor.utils.io.ByteReadChannel
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.SupervisorJob
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.test.setMain
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.add
import kotlinx.serialization.json.buildJsonObject
import kotlinx.serialization.json.jsonArray
import kotlinx.serialization.json.jsonObject
import kotlinx.serialization.json.jsonPrimitive
import kotlinx.serialization.json.put
import kotlinx.serialization.json.putJsonArray
import org.multipaz.credential.Credential
import org.multipaz.crypto.Algorithm
import org.multipaz.crypto.AsymmetricKey
import org.multipaz.crypto.EcPrivateKey
import org.multipaz.crypto.X509Cert
import org.multipaz.crypto.X509CertChain
import org.multipaz.document.DocumentStore
import org.multipaz.document.buildDocumentStore
import org.multipaz.prompt.PromptModel
import org.multipaz.provisioning.AuthorizationChallenge
import org.multipaz.provisioning.AuthorizationResponse
import org.multipaz.provisioning.CredentialKeyAttestation
import org.multipaz.provisioning.DocumentProvisioningHandler
import org.multipaz.provisioning.DocumentProvisioningSettings
import org.multipaz.provisioning.ProvisioningModel
import org.multipaz.provisioning.openid4vci.OpenID4VCIBackend
import org.multipaz.provisioning.openid4vci.OpenID4VCIClientPreferences
import org.multipaz.provisioning.openid4vci.OpenID4VCILocalBackend
import org.multipaz.securearea.KeyAttestation
import org.multipaz.securearea.SecureAreaRepository
import org.multipaz.securearea.software.SoftwareSecureArea
import org.multipaz.storage.ephemeral.EphemeralStorage

private const val CLIENT_ID = "multipaz-of-the-tests"

// More than one: the wallet asks for them in one request.
private const val CREDENTIALS = 3

private val received = mutableListOf<DocumentStore>()

/** The documents of earlier errands, by number. */
internal fun received(number: Int): DocumentStore = received[number]

/** Accepts the errand's offer and types its codes. Returns the number of credentials, and all faults found by the library. */
internal suspend fun receive(errand: JsonObject): JsonObject {
    // Multipaz requests keys on the main dispatcher, which only programs with a window have.
    Dispatchers.setMain(Dispatchers.Default)
    val storage = EphemeralStorage()
    val area = SoftwareSecureArea.create(storage)
    val store = buildDocumentStore(storage, SecureAreaRepository.Builder().add(area).build()) {}
    val model = model(store, area, attests = "attests" in errand)
    val preferences = OpenID4VCIClientPreferences(
        clientId = CLIENT_ID,
        redirectUrl = "https://wallet.example/redirect",
        locales = listOf("en"),
        signingAlgorithms = listOf(Algorithm.ESP256),
    )
    val provider = WalletProvider(errand.getValue("provider").jsonObject)
    val document = model.launchOpenID4VCIProvisioning(errand.text("offer"), preferences, provider)
    val again = model.type(errand["tx_codes"]?.jsonArray.orEmpty().map { it.jsonPrimitive.content })
    val credentials = document.await().getCertifiedCredentials()
    val findings = credentials.flatMap { it.findings() }
    received += store
    return buildJsonObject {
        put("received", received.lastIndex)
        put("credentials", credentials.map { it.issuerProvidedData }.toSet().size)
        put("asked_again", again)
        putJsonArray("attested") { provider.attested.forEach { add(it) } }
        putJsonArray("findings") { findings.forEach { add(it) } }
    }
}

/** The library's provisioning, which keeps documents in the store and their keys in the area. */
private fun model(store: DocumentStore, area: SoftwareSecureArea, attests: Boolean) = ProvisioningModel(
    documentProvisioningHandler = DocumentProvisioningHandler(
        secureArea = area,
        documentStore = store,
        defaultDocumentProvisioningSettings = DocumentProvisioningSettings(
            keyBoundCredentialNumPerDomain = CREDENTIALS,
            requestUserAuth = false,
            mdocNoUserAuthDomain = "mdoc",
            sdJwtNoUserAuthDomain = "sd-jwt",
        ),
    ),
    httpClient = http(attests),
    promptModel = Unattended,
    authorizationSecureArea = area,
)

/** Types a code whenever the library asks for one. Returns how often it asked again. */
private suspend fun ProvisioningModel.type(codes: List<String>): Int {
    var last: ProvisioningModel.State? = null
    var again = 0
    for (code in codes) {
        val asking = state.first { it != last && (it is ProvisioningModel.Authorizing || it.isLast()) }
        if (asking !is ProvisioningModel.Authorizing) break
        last = asking
        val challenge = asking.authorizationChallenges.single() as AuthorizationChallenge.SecretText
        if (challenge.retry) again += 1
        provideAuthorizationResponse(AuthorizationResponse.SecretText(challenge.id, code))
    }
    return again
}

private fun ProvisioningModel.State.isLast() =
    this is ProvisioningModel.Error || this is ProvisioningModel.CredentialsIssued

/** Faults that the library finds in a credential that it received. */
private suspend fun Credential.findings(): List<String> =
    validate().run { errors + warnings }.map { it.message }

/** The wallet provider of the test, with the library's own attestations. It records its attestations. */
private class WalletProvider(
    given: JsonObject,
    private val signer: OpenID4VCIBackend = signer(given),
) : OpenID4VCIBackend by signer {
    val attested = mutableListOf<String>()

    override suspend fun createJwtWalletAttestation(keyAttestation: KeyAttestation): String {
        attested += "wallet"
        return signer.createJwtWalletAttestation(keyAttestation)
    }

    override suspend fun createJwtKeyAttestation(
        credentialKeyAttestations: List<CredentialKeyAttestation>,
        challenge: String,
        userAuthentication: List<String>?,
        keyStorage: List<String>?,
    ): String {
        attested += "keys"
        return signer.createJwtKeyAttestation(credentialKeyAttestations, challenge, userAuthentication, keyStorage)
    }
}

private fun signer(given: JsonObject): OpenID4VCIBackend {
    val key = AsymmetricKey.X509CertifiedExplicit(
        certChain = X509CertChain(listOf(X509Cert.fromPem(given.text("certificate")))),
        privateKey = EcPrivateKey.fromJwk(given.getValue("key").jsonObject),
    )
    return OpenID4VCILocalBackend(
        clientAssertionKey = key,
        attestationKey = key,
        clientId = CLIENT_ID,
        walletName = "Multipaz of the tests",
        walletLink = "https://wallet.example",
    )
}

/** `attests`: reads server metadata as if client attestation were required. */
private fun http(attests: Boolean) = HttpClient(Java) {
    followRedirects = false
    if (attests) install(WithoutNone)
}

private val WithoutNone = createClientPlugin("WithoutNone") {
    on(Send) { request ->
        val call = proceed(request)
        if ("oauth-authorization-server" !in request.url.pathSegments) return@on call
        val metadata = Json.parseToJsonElement(call.response.bodyAsText()).jsonObject
        val methods = metadata.getValue(AUTH_METHODS).jsonArray.filter { it.jsonPrimitive.content != "none" }
        val changed = JsonObject(metadata + (AUTH_METHODS to JsonArray(methods))).toString()
        call.replaceResponse(headersOf()) { ByteReadChannel(changed) }
    }
}

private const val AUTH_METHODS = "token_endpoint_auth_methods_supported"

/** Never asks the user: a software key needs no unlocking. */
private object Unattended : PromptModel(NoDialogs) {
    override val promptModelScope = CoroutineScope(Dispatchers.Default + SupervisorJob() + this)
}

private object NoDialogs : PromptModel.Builder({ reason, _ -> error("the user is asked: $reason") }) {
    override fun build(): PromptModel = Unattended
}
