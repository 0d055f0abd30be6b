// A wallet on Multipaz. Each input line is an errand in JSON. It has an offer, a link, or the request that a page passes to
// its browser, the credentials of the wallet, and the fault of the wallet, if any. Each output line is the outcome of an
// errand.

@file:OptIn(kotlin.time.ExperimentalTime::class)

import io.ktor.client.HttpClient
import io.ktor.client.engine.java.Java
import io.ktor.client.request.forms.submitForm
import io.ktor.client.request.get
import io.ktor.client.statement.bodyAsText
import io.ktor.http.Url
import io.ktor.http.parameters
import kotlinx.coroutines.runBlocking
import kotlinx.io.bytestring.ByteString
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.buildJsonObject
import kotlinx.serialization.json.int
import kotlinx.serialization.json.jsonArray
import kotlinx.serialization.json.jsonObject
import kotlinx.serialization.json.jsonPrimitive
import kotlinx.serialization.json.put
import org.multipaz.crypto.EcPrivateKey
import org.multipaz.crypto.JsonWebSignature
import org.multipaz.crypto.X509Cert
import org.multipaz.document.DocumentStore
import org.multipaz.document.buildDocumentStore
import org.multipaz.documenttype.DocumentTypeRepository
import org.multipaz.mdoc.credential.MdocCredential
import org.multipaz.openid.OpenID4VP
import org.multipaz.presentment.SimplePresentmentSource
import org.multipaz.presentment.digitalCredentialsPresentment
import org.multipaz.presentment.uriSchemePresentment
import org.multipaz.prompt.ShowConsentPromptFn
import org.multipaz.prompt.promptModelSilentConsent
import org.multipaz.request.OpenID4VPRequesterIdentity
import org.multipaz.request.TrustedRequesterIdentity
import org.multipaz.sdjwt.credential.KeyBoundSdJwtVcCredential
import org.multipaz.securearea.SecureAreaRepository
import org.multipaz.securearea.software.SoftwareCreateKeySettings
import org.multipaz.securearea.software.SoftwareSecureArea
import org.multipaz.storage.ephemeral.EphemeralStorage
import org.multipaz.trustmanagement.TrustMetadata
import java.util.Base64

fun main() {
    // The library logs to the current standard output.
    val out = System.out
    System.setOut(System.err)
    for (line in generateSequence(::readLine)) {
        val went = runBlocking { runCatching { run(Json.parseToJsonElement(line).jsonObject) } }
        went.exceptionOrNull()?.printStackTrace()
        out.println(
            went.getOrElse { buildJsonObject { put("error", "${it::class.simpleName}: ${it.message}") } },
        )
    }
}

/** Accepts the errand's offer, or answers the request of its page or behind its link. */
private suspend fun run(errand: JsonObject): JsonObject {
    if ("offer" in errand) return receive(errand)
    val source = source(errand)
    val page = errand["page"]?.jsonObject
    val credential = page?.let { answerPage(source, it) }
    val redirectUri = if (page == null) answerLink(source, errand) else null
    return buildJsonObject {
        if (credential == null) put("redirect_uri", redirectUri) else put("credential", credential)
    }
}

/** Answers one request that a page from `origin` passes to its browser. Returns the page's result. */
private suspend fun answerPage(source: SimplePresentmentSource, page: JsonObject): JsonObject =
    digitalCredentialsPresentment(
        protocol = page.text("protocol"),
        data = page.getValue("data").jsonObject,
        appId = null,
        origin = page.text("origin"),
        preselectedDocuments = listOf(),
        source = source,
    )

/** Answers the request behind the errand's `link`. Returns the address to send the user to. */
private suspend fun answerLink(source: SimplePresentmentSource, errand: JsonObject): String? {
    val link = errand.text("link")
    val changes = errand["changes"]?.jsonObject ?: return uriSchemePresentment(
        source = source,
        uri = link,
        appId = null,
        origin = null,
        httpClientEngineFactory = Java,
    )
    return answerAnother(source, link, changes)
}

/** Posts, to the same address, an answer to a changed request: its proofs are for that one. */
private suspend fun answerAnother(
    source: SimplePresentmentSource,
    link: String,
    changes: JsonObject,
): String? =
    HttpClient(Java).use { http ->
        val asked = JsonWebSignature.getInfo(http.get(Url(link).parameters["request_uri"]!!).bodyAsText())
        val another = JsonObject(asked.claimsSet + changes)
        val response = OpenID4VP.generateResponse(
            version = OpenID4VP.Version.DRAFT_29,
            preselectedDocuments = listOf(),
            source = source,
            appId = null,
            origin = "",
            request = another,
            requesterIdentities = listOf(OpenID4VPRequesterIdentity(asked.x5c!!, another.text("client_id"))),
        )
        val form = parameters { append("response", response.response.text("response")) }
        val reply = http.submitForm(asked.claimsSet.text("response_uri"), form).bodyAsText()
        Json.parseToJsonElement(reply).jsonObject["redirect_uri"]?.jsonPrimitive?.content
    }

/** The documents of this wallet, its trusted root, and its user, who agrees to every request if there is no root. */
private suspend fun source(errand: JsonObject): SimplePresentmentSource {
    val root = errand["trusted_root"]?.let { X509Cert.fromPem(it.jsonPrimitive.content) }
    val consent: ShowConsentPromptFn = { requester, trusted, consent, preselected, inFocus ->
        val agreed = (trusted != null || root == null) && errand["declined"] == null
        if (agreed) promptModelSilentConsent(requester, trusted, consent, preselected, inFocus) else null
    }
    return SimplePresentmentSource(
        documentStore = errand["received"]?.let { received(it.jsonPrimitive.int) } ?: documents(errand),
        documentTypeRepository = DocumentTypeRepository(),
        resolveTrustFn = { requester ->
            requester.requesterIdentities.firstOrNull { identity ->
                root != null &&
                    runCatching { identity.certChain.certificates.last().verify(root.ecPublicKey) }.isSuccess
            }?.let { TrustedRequesterIdentity(it, TrustMetadata()) }
        },
        showConsentPromptFn = consent,
        domainsMdocSignature = listOf("mdoc"),
        domainsKeyBoundSdJwt = listOf("sd-jwt"),
    )
}

/** The errand's credentials, each with its key. */
private suspend fun documents(errand: JsonObject): DocumentStore {
    val storage = EphemeralStorage()
    val area = SoftwareSecureArea.create(storage)
    val store = buildDocumentStore(storage, SecureAreaRepository.Builder().add(area).build()) {}
    for (held in errand["credentials"]!!.jsonArray.map { it.jsonObject }) {
        val type = held.text("type")
        val key = EcPrivateKey.fromJwk(held["key"]!!.jsonObject)
        val settings = SoftwareCreateKeySettings.Builder().setPrivateKey(key).build()
        val document = store.createDocument(displayName = type)
        val credential = when (held.text("format")) {
            "mso_mdoc" -> MdocCredential.create(document, null, "mdoc", area, type, settings)
            else -> KeyBoundSdJwtVcCredential.create(document, null, "sd-jwt", area, type, settings)
        }
        credential.certify(ByteString(Base64.getDecoder().decode(held.text("issued"))))
    }
    return store
}

internal fun JsonObject.text(name: String) = getValue(name).jsonPrimitive.content
