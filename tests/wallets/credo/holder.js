// Credo as a complete wallet: it stores credentials, reads a request, selects credentials and posts
// the answer. Keys and records live in memory.

import {
  Agent,
  DidDocument,
  DidsModule,
  InjectionSymbols,
  JsonTransformer,
  JwkDidResolver,
  KeyDidResolver,
  Kms,
  Mdoc,
  MdocRecord,
  RecordNotFoundError,
  SdJwtVcRecord,
  X509Module,
} from '@credo-ts/core'
import { agentDependencies, NodeInMemoryKeyManagementStorage, NodeKeyManagementService } from '@credo-ts/node'
import { OpenId4VcModule } from '@credo-ts/openid4vc'

/** Credentials of one sample. */
const BATCH = 3

/** Credo's storage, in memory. A query matches records that have all of its tags. */
class MemoryStorage {
  supportsCursorPagination = false
  records = new Map()

  async save(_context, record) {
    this.records.set(record.id, record)
  }

  async update(_context, record) {
    this.records.set(record.id, record)
  }

  async delete(_context, record) {
    this.records.delete(record.id)
  }

  async deleteById(_context, _recordClass, id) {
    this.records.delete(id)
  }

  async getById(_context, recordClass, id) {
    const record = this.records.get(id)
    if (record?.type === recordClass.type) return record
    throw new RecordNotFoundError('no such record', { recordType: recordClass.type })
  }

  async getAll(_context, recordClass) {
    return [...this.records.values()].filter((record) => record.type === recordClass.type)
  }

  async findByQuery(context, recordClass, query) {
    const records = await this.getAll(context, recordClass)
    return records.filter((record) => matches(record.getTags(), query))
  }
}

function matches(tags, { $and = [], $or, $not, ...simple }) {
  return (
    Object.entries(simple).every(([name, value]) => tags[name] === value) &&
    $and.every((query) => matches(tags, query)) &&
    (!$or || $or.some((query) => matches(tags, query))) &&
    !($not && matches(tags, $not))
  )
}

/** Checks a credential up to the end of its own chain. Does not check a verifier. */
const lastOfChain = (_context, { certificateChain, verification }) =>
  verification.type === 'credential' ? [certificateChain.at(-1).toString('pem')] : undefined

/** did:web over plain HTTP: Credo's own resolver insists on TLS, and the gateway is on loopback. */
const loopbackWeb = {
  supportedMethods: ['web'],
  allowsCaching: false,
  allowsLocalDidRecord: false,

  async resolve(_context, did) {
    const host = decodeURIComponent(did.replace(/^did:web:/, ''))
    const document = await (await fetch(`http://${host}/.well-known/did.json`)).json()
    return {
      didDocument: JsonTransformer.fromJSON(document, DidDocument),
      didDocumentMetadata: {},
      didResolutionMetadata: { contentType: 'application/did+ld+json' },
    }
  },
}

export class Holder {
  /** Trusts verifiers below these roots (PEM) and those of a DID. `trustsIssuers`: it trusts the roots of every issuer. */
  static async create(roots = [], { trustsIssuers = false } = {}) {
    const holder = new Holder()
    const storage = new MemoryStorage()
    const keys = new NodeKeyManagementService(new NodeInMemoryKeyManagementStorage())
    holder.agent = new Agent({
      config: { allowInsecureHttpUrls: true, autoUpdateStorageOnStartup: true },
      dependencies: agentDependencies,
      modules: {
        dids: new DidsModule({ resolvers: [loopbackWeb, new JwkDidResolver(), new KeyDidResolver()] }),
        openid4vc: new OpenId4VcModule(),
        x509: new X509Module({
          trustedCertificates: roots,
          ...(trustsIssuers && { getTrustedCertificatesForVerification: lastOfChain }),
        }),
        kms: new Kms.KeyManagementModule({ backends: [keys], defaultBackend: keys.backend }),
        storage: { register: (manager) => manager.registerInstance(InjectionSymbols.StorageService, storage) },
      },
    })
    await holder.agent.initialize()
    return holder
  }

  /** A fresh P-256 key: its id, and its public JWK for an issuer. */
  async createKey() {
    const { keyId, publicJwk } = await this.agent.kms.createKey({ type: { kty: 'EC', crv: 'P-256' } })
    const { kty, crv, x, y } = publicJwk
    return { keyId, publicJwk: { kty, crv, x, y } }
  }

  async storeSdJwtVc(compactSdJwtVc, { keyId: kmsKeyId }) {
    const record = new SdJwtVcRecord({ credentialInstances: [{ compactSdJwtVc, kmsKeyId }] })
    await this.agent.sdJwtVc.store({ record })
  }

  async storeMdoc(issuerSigned, { keyId }) {
    const mdoc = Mdoc.fromBase64Url(issuerSigned)
    mdoc.deviceKeyId = keyId
    await this.agent.mdoc.store({ record: MdocRecord.fromMdoc(mdoc) })
  }

  /** Accepts an offer of an issuer, stores the credentials, and returns the records. */
  async receive(offer, { txCode } = {}) {
    const { holder } = this.agent.openid4vc
    const resolvedCredentialOffer = await holder.resolveCredentialOffer(offer)
    const token = await holder.requestToken({ resolvedCredentialOffer, txCode })
    const { credentials } = await holder.requestCredentials({
      resolvedCredentialOffer,
      ...token,
      credentialBindingResolver: async ({ issuerMaxBatchSize }) => {
        const keys = Array.from({ length: Math.min(issuerMaxBatchSize, BATCH) }, () =>
          this.agent.kms.createKey({ type: { kty: 'EC', crv: 'P-256' } }))
        const made = await Promise.all(keys)
        return { method: 'jwk', keys: made.map(({ publicJwk }) => Kms.PublicJwk.fromPublicJwk(publicJwk)) }
      },
    })
    for (const { record, notificationId } of credentials) {
      await this.agent[record instanceof MdocRecord ? 'mdoc' : 'sdJwtVc'].store({ record })
      const { metadata } = resolvedCredentialOffer
      await holder.sendNotification({ metadata, ...token, notificationId, notificationEvent: 'credential_accepted' })
    }
    return { token, records: credentials.map(({ record }) => record) }
  }

  /** Answers the request behind a QR code: the gateway's status and body. */
  async answer(uri) {
    const { holder } = this.agent.openid4vc
    const request = await holder.resolveOpenId4VpAuthorizationRequest(uri)
    const { serverResponse } = await holder.acceptOpenId4VpAuthorizationRequest({
      authorizationRequestPayload: request.authorizationRequestPayload,
      ...this.choose(request),
    })
    return serverResponse
  }

  /** Answers a request that a page from `origin` passes to its browser, and returns the result for the page. */
  async answerPage({ protocol, data }, origin) {
    const { holder } = this.agent.openid4vc
    const request = await holder.resolveOpenId4VpAuthorizationRequest(data, { origin })
    const { authorizationResponse } = await holder.acceptOpenId4VpAuthorizationRequest({
      authorizationRequestPayload: request.authorizationRequestPayload,
      origin,
      ...this.choose(request),
    })
    return { protocol, data: authorizationResponse }
  }

  /** Whether Credo holds what the request behind a link asks for. */
  async canAnswer(uri) {
    const request = await this.agent.openid4vc.holder.resolveOpenId4VpAuthorizationRequest(uri)
    return request.dcql.queryResult.can_be_satisfied
  }

  /** The credentials that Credo selects, in the query language of the request. */
  choose({ presentationExchange, dcql }) {
    const { holder } = this.agent.openid4vc
    if (dcql) return { dcql: { credentials: holder.selectCredentialsForDcqlRequest(dcql.queryResult) } }
    const { credentialsForRequest } = presentationExchange
    const credentials = holder.selectCredentialsForPresentationExchangeRequest(credentialsForRequest)
    return { presentationExchange: { credentials } }
  }

  async stop() {
    await this.agent.shutdown()
  }
}
