// Two mdoc implementations, each as issuer, holder and second opinion: @owf/mdoc and @auth0/mdl.
// The SessionTranscript is that of OpenID4VP 1.0 B.2.6.1, as @owf/mdoc encodes it.

import { createHash, createPrivateKey, createPublicKey, randomBytes, sign, verify } from 'node:crypto'
import * as auth0 from '@auth0/mdl'
import * as owf from '@owf/mdoc'
import { X509Certificate, X509ChainBuilder } from '@peculiar/x509'
import { publicJwk } from './authority.js'

export const MDL = 'org.iso.18013.5.1.mDL'
export const MDL_NAMESPACE = 'org.iso.18013.5.1'
const VALID_FOR_MS = 3_600_000

/** Dates of an MSO that is good for an hour, moved by `shiftMs`. */
export function validity(shiftMs = 0) {
  const signed = new Date(Math.floor((Date.now() + shiftMs) / 1000) * 1000)
  return { signed, validFrom: signed, validUntil: new Date(signed.getTime() + VALID_FOR_MS) }
}

/** The transcript of an answer; with the thumbprint of the request's key when it is encrypted. */
export async function transcript({ client_id: clientId, nonce, response_uri: responseUri }, jwkThumbprint) {
  return owf.SessionTranscript.forOid4Vp({ clientId, nonce, responseUri, jwkThumbprint }, context)
}

/** The same of an answer through the browser of a page from `origin` (B.2.6.2). */
export async function browserTranscript({ origin, nonce }, jwkThumbprint) {
  return owf.SessionTranscript.forOid4VpDcApi({ origin, nonce, jwkThumbprint }, context)
}

const keyOf = (key) => createPublicKey({ key: publicJwk(key.jwk), format: 'jwk' })

/** What @owf/mdoc leaves to its user. */
export const context = {
  crypto: {
    random: (length) => new Uint8Array(randomBytes(length)),
    digest: ({ digestAlgorithm, bytes }) =>
      new Uint8Array(createHash(digestAlgorithm.replace('-', '')).update(bytes).digest()),
    calculateEphemeralMacKey: () => {
      throw new Error('an unencrypted answer has no MAC')
    },
  },
  cose: {
    sign1: {
      sign: ({ toBeSigned, key }) => {
        const privateKey = createPrivateKey({ key: key.jwk, format: 'jwk' })
        const options = { key: privateKey, dsaEncoding: 'ieee-p1363' }
        return new Uint8Array(sign('sha256', toBeSigned, options))
      },
      verify: ({ key, sign1 }) => {
        const options = { key: keyOf(key), dsaEncoding: 'ieee-p1363' }
        return verify('sha256', sign1.toBeSigned, options, sign1.signature)
      },
    },
    mac0: {},
  },
  x509: {
    getIssuerNameField: ({ certificate, field }) => new X509Certificate(certificate).issuerName.getField(field),
    getPublicKey: ({ certificate }) => {
      const der = Buffer.from(new X509Certificate(certificate).publicKey.rawData)
      const key = createPublicKey({ key: der, format: 'der', type: 'spki' })
      return owf.CoseKey.fromJwk(key.export({ format: 'jwk' }))
    },
    verifyCertificateChain: async ({ trustedCertificates, x5chain }) => {
      const certificates = trustedCertificates.map((der) => new X509Certificate(der))
      const chain = await new X509ChainBuilder({ certificates }).build(new X509Certificate(x5chain[0]))
      const last = chain[chain.length - 1]
      if (!certificates.some((root) => root.equal(last))) throw new Error('no path to a trusted root')
    },
    getCertificateData: async ({ certificate }) => {
      const parsed = new X509Certificate(certificate)
      return {
        issuerName: parsed.issuer,
        subjectName: parsed.subject,
        serialNumber: parsed.serialNumber,
        thumbprint: Buffer.from(await parsed.getThumbprint()).toString('hex'),
        notBefore: parsed.notBefore,
        notAfter: parsed.notAfter,
        pem: parsed.toString('pem'),
      }
    },
  },
}

/** The elements that an input descriptor asks for: `{namespace: {element: intent_to_retain}}`. */
function requested(descriptor) {
  const namespaces = {}
  for (const { path, intent_to_retain: retain } of descriptor.constraints.fields) {
    const [, namespace, element] = /^\$\['([^']+)'\]\['([^']+)'\]$/.exec(path[0])
    namespaces[namespace] = { ...namespaces[namespace], [element]: retain }
  }
  return namespaces
}

export const owfMdoc = {
  name: '@owf/mdoc',

  async issue(authority, deviceKey, elements, dates = validity()) {
    return new owf.Issuer(MDL, context).addIssuerNamespace(MDL_NAMESPACE, elements).sign({
      signingKey: owf.CoseKey.fromJwk({ ...authority.signerJwk, alg: 'ES256' }),
      algorithm: owf.SignatureAlgorithm.ES256,
      digestAlgorithm: 'SHA-256',
      validityInfo: dates,
      deviceKeyInfo: { deviceKey: owf.DeviceKey.fromJwk(publicJwk(deviceKey)) },
      certificates: [authority.signerDer],
    })
  },

  birthDate: (text) => new owf.DateOnly(text),

  async present(issuerSigned, deviceKey, definition, sessionTranscript) {
    const [descriptor] = definition.input_descriptors
    const itemsRequest = owf.ItemsRequest.create({
      docType: descriptor.id,
      namespaces: requested(descriptor),
    })
    const deviceRequest = owf.DeviceRequest.create({
      docRequests: [owf.DocRequest.create({ itemsRequest })],
    })
    const response = await owf.Holder.createDeviceResponseForDeviceRequest(
      {
        deviceRequest,
        sessionTranscript,
        issuerSigned: [issuerSigned],
        signature: { signingKey: owf.CoseKey.fromJwk({ ...deviceKey, alg: 'ES256' }) },
      },
      context
    )
    return response.encode()
  },

  async verify(deviceResponse, authority, sessionTranscript) {
    await owf.Verifier.verifyDeviceResponse(
      { deviceResponse, sessionTranscript, trustedCertificates: [authority.rootDer] },
      context
    )
  },
}

export const auth0Mdl = {
  name: '@auth0/mdl',

  async issue(authority, deviceKey, elements, dates = validity()) {
    const document = await new auth0.Document(MDL)
      .addIssuerNameSpace(MDL_NAMESPACE, elements)
      .useDigestAlgorithm('SHA-256')
      .addValidityInfo(dates)
      .addDeviceKeyInfo({ deviceKey: publicJwk(deviceKey) })
      .sign({
        issuerPrivateKey: authority.signerJwk,
        issuerCertificate: authority.signerPem,
        alg: 'ES256',
      })
    return new auth0.MDoc([document]).encode()
  },

  birthDate: (text) => text,

  async present(mdoc, deviceKey, definition, sessionTranscript) {
    const response = await auth0.DeviceResponse.from(mdoc)
      .usingPresentationDefinition(definition)
      .usingSessionTranscriptBytes(Buffer.from(sessionTranscript.encode({ asDataItem: true })))
      .authenticateWithSignature(deviceKey, 'ES256')
      .sign()
    return response.encode()
  },

  async verify(deviceResponse, authority, sessionTranscript) {
    const encodedSessionTranscript = Buffer.from(sessionTranscript.encode({ asDataItem: true }))
    await new auth0.Verifier([authority.rootPem]).verify(Buffer.from(deviceResponse), {
      encodedSessionTranscript,
    })
  },
}
